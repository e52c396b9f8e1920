"""What it costs to judge rows by arrival, as ratios of processor time in one run.

    tidemill bench arrivals --json bench/results/arrivals.json

Apart: ticks of eight files, each judged by those before it, over ticks of the same rows in one
file. Every row comes up to a fifth of a second late, which the lateness covers, or, under `late`,
covers for all but a few. Small: ticks of 3,000 rows with late rows over ticks of as many without.
JSON is Spark's to read, which is started before; the other formats are measured without it.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from _harness import print_table, tell, write_json
from _rows import SCHEMA, Shape, make_rows

from tidemill import Engine
from tidemill.spark.session import start_session

FILES = 8
DELAY_US = 200_000
FORMATS = ("parquet", "csv", "json")
SMALL_ROWS, SMALL_TICKS = 3_000, 30
SCRIPT = """
SET tick_files = {files};
CREATE STREAM packets ({schema}) ORDER BY ts SOURCE '{kind}:{data}' WITH (lateness = '{lateness}');
CREATE SINK out TO 'discard:';
CREATE QUERY a INTO out AS SELECT src, COUNT(*) AS n, SUM(length) AS b
  FROM packets [RANGE 60 SECONDS SLIDE 10 SECONDS] GROUP BY src;
CREATE QUERY b INTO out AS SELECT proto, zone, MAX(length) AS m
  FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS] WHERE port = 443 GROUP BY proto, zone;
"""


@dataclass(frozen=True)
class Setup:
    """Files of a format, so many of them a tick, and how late rows may be."""

    kind: str
    rows: int
    rows_per_tick: int
    files: int = FILES
    lateness: str = "1 second"


def main() -> None:
    options = _options()
    if "json" in options.formats:
        start_session(app="bench arrivals")
    pairs = dict(_pairs(options))
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    seconds: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in pairs}
    try:
        for turn in range(options.repeats + 1):
            for name, pair in pairs.items():
                for setup, runs in zip(pair, seconds[name], strict=True):
                    used_s = _run(setup, scratch)
                    tell(f"{name}: {setup.files} files, {setup.lateness}: {used_s:.2f} CPU s")
                    runs += [used_s] * bool(turn)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _report(seconds, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench arrivals",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rows-per-tick", type=int, default=1_000_000)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--repeats", type=int, default=3, help="runs after one of warm-up")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _pairs(options: argparse.Namespace) -> list[tuple[str, tuple[Setup, Setup]]]:
    """By name what is measured, and what it is measured by."""
    pairs = []
    for kind in options.formats.split(","):
        apart = Setup(kind, options.rows, options.rows_per_tick)
        few_late = Setup(kind, options.rows, options.rows_per_tick, FILES, "150 milliseconds")
        as_one = Setup(kind, options.rows, options.rows_per_tick, files=1)
        pairs += [(f"apart, {kind}", (apart, as_one)), (f"apart, {kind}, late", (few_late, as_one))]
        late = Setup(kind, SMALL_ROWS * SMALL_TICKS, SMALL_ROWS, 1, "150 milliseconds")
        timely = Setup(kind, SMALL_ROWS * SMALL_TICKS, SMALL_ROWS, 1)
        pairs.append((f"small, {kind}, late", (late, timely)))
    return pairs


def _run(setup: Setup, scratch: Path) -> float:
    data = scratch / f"{setup.kind}-{setup.rows}-{setup.files}"
    if not data.exists():
        _write_files(data, setup)
    home = Path(tempfile.mkdtemp(prefix="home-", dir=scratch)) / "home"
    words = {"files": setup.files, "schema": SCHEMA, "kind": setup.kind, "data": data}
    with Engine(home) as engine:
        engine.sql(SCRIPT.format(**words, lateness=setup.lateness))
        before_s = _processor_seconds()
        report = engine.run("flush")
        used_s = _processor_seconds() - before_s
    if report.rows_in != setup.rows or bool(report.rows_late) != ("milli" in setup.lateness):
        raise SystemExit(f"{setup}: {report.rows_in} rows, {report.rows_late} of them late")
    return used_s


def _write_files(folder: Path, setup: Setup) -> None:
    """In the order in which the rows arrive."""
    folder.mkdir()
    rows = make_rows(Shape(rows=setup.rows), 0, setup.rows, 1)
    delays_us = np.random.default_rng(2).integers(0, DELAY_US, setup.rows)
    times_us = rows.column("ts").cast(pa.int64()).to_numpy()
    rows = rows.take(pa.array(np.argsort(times_us + delays_us, kind="stable")))
    each = setup.rows_per_tick // setup.files
    for number, first in enumerate(range(0, setup.rows, each)):
        _write(rows.slice(first, each), folder / f"{number:05d}.{setup.kind}")


def _write(rows: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pa.parquet.write_table(rows, path)
        return
    texts = rows.column("ts").cast(pa.timestamp("us")).cast(pa.string())
    plain = rows.set_column(0, "ts", texts)
    if path.suffix == ".csv":
        options = pa.csv.WriteOptions(include_header=False, quoting_style="none")
        pa.csv.write_csv(plain, path, options)
        return
    plain.to_pandas().to_json(path, orient="records", lines=True)


def _processor_seconds() -> float:
    """Of this process and of those it has started, Spark's among them."""
    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def _report(
    seconds: Mapping[str, tuple[list[float], list[float]]], options: argparse.Namespace
) -> None:
    medians = {n: tuple(map(statistics.median, pair)) for n, pair in seconds.items()}
    rows = [
        [name, f"{measured:.2f}", f"{by:.2f}", f"{measured / by:.2f}"]
        for name, (measured, by) in medians.items()
    ]
    print_table(f"{options.rows:,} rows", ["what", "CPU s", "by CPU s", "ratio"], rows)
    if options.json:
        write_json(options.json, {"rows": options.rows, "medians": medians, "seconds": seconds})


if __name__ == "__main__":
    main()
