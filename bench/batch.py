"""One standing query beside the same answers as a batch query of DuckDB, cold and warm.

    tidemill bench batch --json bench/results/batch.json

Both read the same Parquet files. Each has a process of its own that answers several times:
*cold* is the time from the start of the process to the first answers, imports included, *warm*
the median of the others. DuckDB is given its best plan: it groups by panes of one slide first and
puts windows together from these. The answers are compared before any time is told.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from _harness import print_table, tell, write_json
from _rows import Shape, make_files

RANGE_S, SLIDE_S = 60, 10
FILES_PER_TICK = 4
STREAM = """
SET tick_files = {files};
CREATE STREAM packets (ts TIMESTAMP, src INT, proto STRING, port INT, zone STRING, length BIGINT)
  ORDER BY ts SOURCE 'parquet:{data}';
CREATE SINK out TO 'parquet:{out}';
CREATE QUERY traffic INTO out AS
SELECT src, SUM(length) AS bytes, COUNT(*) AS packets
FROM packets [RANGE {range_s} SECONDS SLIDE {slide_s} SECONDS] GROUP BY src;
"""
BATCH = """
COPY (
  WITH panes AS (
    SELECT epoch_us(ts) // {slide_us} AS pane, src, sum(length) AS bytes, count(*) AS packets
    FROM read_parquet('{data}/*.parquet') GROUP BY ALL)
  SELECT make_timestamp((pane - step) * {slide_us}) AS window_start, src,
    sum(bytes)::BIGINT AS bytes, sum(packets)::BIGINT AS packets
  FROM panes, range({steps}) AS steps(step) GROUP BY ALL
) TO '{out}' (FORMAT parquet)
"""
CONTENDERS = ("tidemill", "duckdb")


@dataclass(frozen=True)
class Figures:
    """Seconds of one contender, and processor seconds of all its processes."""

    cold_s: float
    warm_s: float
    cpu_s: float


def main() -> None:
    options = _options()
    if options.answer:
        _answer(options.answer, Path(options.data), Path(options.out), options.repeats)
        return
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    try:
        data = scratch / "data"
        shape = Shape(rows=options.rows, groups=options.groups)
        make_files(data, shape, options.rows_per_tick, FILES_PER_TICK)
        figures = {name: _measure(name, data, scratch / name, options) for name in CONTENDERS}
        _compare(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _report(figures, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench batch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--rows-per-tick", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=5, help="answers after the first")
    parser.add_argument("--json", type=Path)
    # The program calls itself with these, once for each contender.
    for name in ("--answer", "--data", "--out"):
        parser.add_argument(name, default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("a warm figure takes one repeat at least")
    return options


def _measure(name: str, data: Path, out: Path, options: argparse.Namespace) -> Figures:
    tell(name)
    command = [sys.executable, __file__, "--answer", name, "--data", data, "--out", out]
    started, cpu = time.time(), os.times()
    done = subprocess.run(
        [*command, "--repeats", str(options.repeats)], check=True, stdout=subprocess.PIPE
    )
    after = os.times()
    ends = [float(end) for end in json.loads(done.stdout.splitlines()[-1])]
    warm = [end - begin for begin, end in itertools.pairwise(ends)]
    used = after.children_user - cpu.children_user + after.children_system - cpu.children_system
    return Figures(ends[0] - started, statistics.median(warm), used)


def _answer(name: str, data: Path, out: Path, repeats: int) -> None:
    """Answers in this process, the first time and then so many times; prints when each ended."""
    ends = []
    for number in range(repeats + 1):
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        _ANSWERS[name](data, out, number)
        ends.append(time.time())
    print(json.dumps(ends))


def _by_tidemill(data: Path, out: Path, number: int) -> None:
    import tidemill

    script = STREAM.format(
        files=FILES_PER_TICK, data=data, out=out / "rows", range_s=RANGE_S, slide_s=SLIDE_S
    )
    with tidemill.Engine(out.with_name(f"home-{number}")) as engine:
        engine.sql(script)
        engine.run("flush")


def _by_duckdb(data: Path, out: Path, _number: int) -> None:
    import duckdb

    steps, slide_us = RANGE_S // SLIDE_S, SLIDE_S * 1_000_000
    file = out / "rows.parquet"
    duckdb.execute(BATCH.format(data=data, out=file, slide_us=slide_us, steps=steps))


_ANSWERS: dict[str, Callable[[Path, Path, int], None]] = {
    "tidemill": _by_tidemill,
    "duckdb": _by_duckdb,
}


def _compare(scratch: Path) -> None:
    """Stops unless both have answered the same, window by window."""
    import duckdb

    columns = "epoch_us(window_start) AS window_start, src, bytes, packets"
    left, right = (
        f"SELECT {columns} FROM read_parquet('{scratch / name}/**/*.parquet')"
        for name in CONTENDERS
    )
    ((rows,),) = duckdb.sql(f"SELECT count(*) FROM ({left})").fetchall()
    differing = duckdb.sql(
        f"(({left}) EXCEPT ({right})) UNION ALL (({right}) EXCEPT ({left}))"
    ).fetchall()
    if not rows or differing:
        sys.exit(f"the answers differ, or there are none: {rows} rows, {differing[:3]}")
    tell(f"{rows:,} answer rows, equal")


def _report(figures: dict[str, Figures], options: argparse.Namespace) -> None:
    rows = [
        [name, f"{each.cold_s:.2f}", f"{each.warm_s:.2f}", f"{each.cpu_s:.1f}"]
        for name, each in figures.items()
    ]
    header = ["contender", "cold s", "warm s", "processor s, all answers"]
    print_table(f"one query over {options.rows:,} rows", header, rows)
    if options.json:
        write_json(options.json, {name: asdict(each) for name, each in figures.items()})


if __name__ == "__main__":
    main()
