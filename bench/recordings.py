"""Two logs of Zeek played in recorded order: rows late, and how long windows of their union wait.

    tidemill bench recordings -- LOGS --json bench/results/recordings.json

LOGS is a folder with dns.log.gz and weird.log.gz, of one network and one time. They become Parquet,
row by row as they stand, and played by the clock that recordings share. Late rows are compared with
the rule as it is written, and answers of the union with DuckDB over the rows that counted.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _harness import print_table, tell, write_json

from tidemill import Engine
from tidemill.clock import ManualClock
from tidemill.engine.tick.report import TickReport

SECOND_US = 1_000_000
LOGS = {"dns": "query", "weird": "name"}
STREAM = """
CREATE STREAM {name} (ts TIMESTAMP, what STRING) ORDER BY ts
  SOURCE 'replay:{folder}/{name}?recorded=true&speed=0' WITH (lateness = '{lateness} s'{more});
CREATE QUERY of_{name} AS SELECT COUNT(*) AS n FROM {name} [RANGE 10 s SLIDE 10 s];
"""
UNION = """
SET promises = '{promises}';
CREATE STREAM both AS SELECT ts, what FROM dns UNION ALL SELECT ts, what FROM weird;
CREATE QUERY of_both AS
  SELECT COUNT(*) AS n, COUNT(what) AS named FROM both [RANGE 10 s SLIDE 10 s];
"""
BATCH = """
SELECT us - us % 10000000 AS start, COUNT(*), COUNT(what)
FROM counted GROUP BY ALL ORDER BY ALL
"""


@dataclass(frozen=True)
class Waits:
    """How long windows of the union waited for their answers, by the recorded clock."""

    windows: int
    longest_s: float
    over_65_s: int


def convert(log: Path, column: str, folder: Path) -> pa.Table:
    """Times and one column, in the order of the log."""
    with gzip.open(log, "rt", encoding="utf-8", errors="replace") as lines:
        names: list[str] = []
        rows = []
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "#fields":
                names = fields[1:]
            elif not line.startswith("#"):
                rows.append((fields[names.index("ts")], fields[names.index(column)]))
    micros = [
        int(whole) * SECOND_US + int(part.ljust(6, "0")[:6])
        for whole, part in (time.split(".") for time, _ in rows)
    ]
    what = [None if value == "-" else value for _, value in rows]
    table = pa.table({"ts": pa.array(micros, pa.timestamp("us", "UTC")), "what": what})
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "log.parquet")
    return table


def late_by_rule(rows: pa.Table, lateness_s: int) -> np.ndarray:
    """For each row if it is older than the newest of all earlier seconds less the lateness."""
    times = rows.column("ts").cast(pa.int64()).to_numpy()
    newest = np.maximum.accumulate(times)
    _, first, place = np.unique(newest // SECOND_US, return_index=True, return_inverse=True)
    before = np.where(first == 0, -(2**62), newest[np.maximum(first, 1) - 1])
    return times < before[place] - lateness_s * SECOND_US


def count_late(folder: Path, name: str, lateness_s: int) -> int:
    script = STREAM.format(name=name, folder=folder, lateness=lateness_s, more="")
    home = folder / f"late-{name}-{lateness_s}"
    with Engine(home, clock=ManualClock(), default_sink="discard") as engine:
        engine.sql(script)
        return engine.run("flush").rows_late


def play_union(folder: Path, promises: str) -> tuple[Waits, list[tuple[object, ...]]]:
    """The waits of windows that were answered before the recordings' end, and all answers."""
    waits: list[int] = []
    with Engine(folder / f"union-{promises}", clock=ManualClock()) as engine:
        for name in LOGS:
            more = ", skew = '1 second'" if name == "weird" else ""
            engine.sql(STREAM.format(name=name, folder=folder, lateness=60, more=more))
        engine.sql(UNION.format(promises=promises))
        answered = 0

        def listen(tick: TickReport) -> None:
            nonlocal answered
            count = tick.answers.get("of_both", 0)
            if not count or engine._recorded.now_us is None:
                return
            answered += count
            ends = engine.query("of_both").answers().to_arrow().column("window_end")
            newest_us = sorted(ends.cast(pa.int64()).to_pylist())[answered - count : answered]
            waits.extend(engine._recorded.now_us - end_us for end_us in newest_us)

        engine.run("idle", listen)
        engine.run("flush")
        answers = engine.query("of_both").answers().to_arrow()
    rows = [
        (start, *values)
        for start, *values in zip(
            answers.column("window_start").cast(pa.int64()).to_pylist(),
            *(answers.column(name).to_pylist() for name in ("n", "named")),
            strict=True,
        )
    ]
    seconds = [wait / SECOND_US for wait in waits]
    longest = Waits(len(seconds), max(seconds), sum(wait > 65 for wait in seconds))
    return longest, sorted(rows, key=lambda row: str(row[0]))


def main() -> None:
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    try:
        logs = {
            name: convert(options.logs / f"{name}.log.gz", column, folder / name)
            for name, column in LOGS.items()
        }
        late = []
        for name, rows in logs.items():
            for lateness_s in (5, 60, 700):
                count, rule = count_late(folder, name, lateness_s), late_by_rule(rows, lateness_s)
                late.append([name, len(rows), lateness_s, count, int(rule.sum())])
        print_table(
            "late rows",
            ["log", "rows", "lateness, s", "late", "by the rule"],
            [[str(cell) for cell in row] for row in late],
        )
        counted = pa.concat_tables(
            rows.filter(pa.array(~late_by_rule(rows, 60))) for rows in logs.values()
        )
        counted = counted.set_column(0, "us", counted.column("ts").cast(pa.int64()))
        batch = duckdb.sql(BATCH).fetchall()
        waits = {}
        for promises in ("on demand", "none"):
            waits[promises], answers = play_union(folder, promises)
            tell(f"{promises}: {len(answers)} windows, {len(counted):,} rows counted")
            if answers != batch:
                raise SystemExit(f"{promises}: answers are not those of DuckDB")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows = [
        [name, str(w.windows), f"{w.longest_s:.0f} s", str(w.over_65_s)]
        for name, w in waits.items()
    ]
    print_table("waits of 10 s windows", ["promises", "windows", "longest", "over 65 s"], rows)
    if options.json:
        told = {name: asdict(each) for name, each in waits.items()}
        write_json(options.json, {"late": late, "waits": told})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench recordings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("logs", type=Path)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
