"""Queries without a window beside Spark's own read, filter and write of the same rows.

    tidemill bench selections --json bench/results/selections.json

A selection of a tenth of the rows goes into a `parquet:` sink: plain columns on arrays, computed
ones in Catalyst. Spark does the same with `read`, `where`, `select` and
`write`, in the same process, in turn. Processor time, that of Spark and its workers with it, and
wall time are told, and how often Spark's they are. Both must give the same rows.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import psutil
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from _harness import print_table, tell, write_json
from _rows import SCHEMA, Shape, make_files

from tidemill import Engine

FILES_PER_TICK = 4
SCRIPT = """
SET tick_files = {files}; SET tick_bytes = '10GB'; SET tick_rows = 1000000000;
CREATE STREAM packets ({schema}) ORDER BY ts SOURCE 'parquet:{data}';
CREATE SINK out TO 'parquet:{out}';
CREATE QUERY q INTO out AS SELECT {select} FROM packets WHERE {where};
"""
PLAIN, COMPUTED = "ts, src, port, length", "ts, src, length * 8 AS bits, UPPER(zone) AS zone"
WORKLOADS = {"plain columns, arrays": PLAIN, "computed columns, Catalyst": COMPUTED}


@dataclass(frozen=True)
class Figure:
    """One run: processor and wall time in seconds, and rows."""

    processor_s: float
    wall_s: float
    rows: int


def main() -> None:
    options = _options()
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    try:
        shape = Shape(rows=options.rows)
        make_files(scratch / "data", shape, options.rows_per_tick, FILES_PER_TICK)
        where = _tenth(scratch / "data")
        figures = {name: _measure(name, scratch, where, options) for name in WORKLOADS}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _report(figures, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench selections",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rows-per-tick", type=int, default=4_000_000)
    parser.add_argument("--repeats", type=int, default=3, help="runs after one of warm-up")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _tenth(folder: Path) -> str:
    """A condition that about a tenth of the rows satisfy."""
    first = min(folder.glob("*.parquet"))
    lengths = pq.read_table(first, columns=["length"]).column("length").to_numpy()
    low, high = np.quantile(lengths, [0.45, 0.55]).astype(int).tolist()
    return f"length BETWEEN {low} AND {high}"


def _measure(
    name: str, scratch: Path, where: str, options: argparse.Namespace
) -> dict[str, list[Figure]]:
    runs: dict[str, list[Figure]] = {"tidemill": [], "spark": []}
    for turn in range(options.repeats + 1):
        for who, figures in runs.items():
            out = scratch / f"out-{who}-{turn}"
            run = _tidemill if who == "tidemill" else _spark
            figure = run(name, scratch, where, out)
            shutil.rmtree(out)
            tell(f"{name}, {who}: {figure.processor_s:.2f} s of processors, {figure.rows:,} rows")
            if turn:
                figures.append(figure)
    if len({figure.rows for figures in runs.values() for figure in figures}) != 1:
        raise SystemExit(f"{name}: not the same rows")
    return runs


def _tidemill(name: str, scratch: Path, where: str, out: Path) -> Figure:
    script = SCRIPT.format(
        files=FILES_PER_TICK,
        schema=SCHEMA,
        data=scratch / "data",
        out=out,
        select=WORKLOADS[name],
        where=where,
    )
    with Engine(out / "home") as engine:
        engine.sql(script)
        engine.session  # noqa: B018  # started before time is taken, as Spark's own is
        return _timed(lambda: engine.run("flush"), out / "query=q")


def _spark(name: str, scratch: Path, where: str, out: Path) -> Figure:
    from tidemill.spark.session import start_session

    session, columns = start_session(), WORKLOADS[name].split(", ")

    def write() -> None:
        rows = session.read.parquet(str(scratch / "data")).where(where)
        rows.selectExpr(*columns).write.parquet(str(out / "rows"))

    return _timed(write, out / "rows")


def _timed(work: Callable[[], object], out: Path) -> Figure:
    before_s, started = _processor_seconds(), time.perf_counter()
    work()
    wall_s, processor_s = time.perf_counter() - started, _processor_seconds() - before_s
    files = sorted(path for path in out.glob("*.parquet") if not path.name.startswith("_"))
    rows = ds.dataset([str(path) for path in files]).count_rows()
    return Figure(round(processor_s, 2), round(wall_s, 2), rows)


def _processor_seconds() -> float:
    """Of this process and of those it has started, Spark's among them."""
    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def _report(figures: dict[str, dict[str, list[Figure]]], options: argparse.Namespace) -> None:
    medians = {name: _medians(by_contender) for name, by_contender in figures.items()}
    header = ["workload", *next(iter(medians.values()))]
    rows = [[name, *(f"{value:.2f}" for value in by.values())] for name, by in medians.items()]
    print_table(f"a tenth of {options.rows:,} rows into parquet:", header, rows)
    if options.json:
        runs = {
            name: {who: [asdict(one) for one in each] for who, each in by_contender.items()}
            for name, by_contender in figures.items()
        }
        write_json(options.json, {"medians": medians, "runs": runs})


def _medians(runs: dict[str, list[Figure]]) -> dict[str, float]:
    """Seconds of each, and how often Spark's own they are."""
    medians = {}
    for measure in ("processor_s", "wall_s"):
        ours, theirs = (
            statistics.median(getattr(figure, measure) for figure in runs[who])
            for who in ("tidemill", "spark")
        )
        name = measure.removesuffix("_s")
        medians |= {f"tidemill {name}": ours, f"spark {name}": theirs}
        medians[f"{name} ratio"] = round(ours / theirs, 2)
    return medians


if __name__ == "__main__":
    main()
