"""Tables joined on arrays, and computed columns, beside Catalyst: processor time for a row.

    tidemill bench tables --json bench/results/tables.json

Ticks of a million rows from 12,500 sources. 10,000 of these stand in a table, once in `hosts`
and three times in `ports`, so that a fifth of the rows has no partner. A workload is run on both
routes in turn, in one process, and the medians of processor time, that of Spark and its workers
with it, are told. Both must give as many answers. The last two workloads have no table: a
hundred plain queries, and the same with one more over a computed column.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from _harness import print_table, tell, write_json
from _rows import Shape, make_files

from tidemill import Engine

KEYS, SOURCES = 10_000, 12_500
FILES_PER_TICK = 4
WINDOW = "FROM packets [RANGE 60 SECONDS SLIDE 10 SECONDS]"
SCRIPT = """
SET tick_files = {files}; SET scan = '{scan}';
CREATE STREAM packets (ts TIMESTAMP, src INT, proto STRING, port INT, zone STRING, length BIGINT)
  ORDER BY ts SOURCE 'parquet:{data}';
CREATE SINK out TO 'discard:';
CREATE TABLE hosts (id INT, owner STRING, weight INT) SOURCE 'parquet:{tables}/hosts.parquet';
CREATE TABLE ports (id INT, label STRING, low INT) SOURCE 'parquet:{tables}/ports.parquet';
"""
ALONE = f"SELECT proto, COUNT(*) AS n, SUM(length) AS b {WINDOW} GROUP BY proto"
OF_HOSTS = f"SELECT owner, COUNT(*) AS n, SUM(length) AS b {WINDOW} JOIN hosts ON id = src"
OF_PORTS = f"SELECT label, COUNT(*) AS n, SUM(length) AS b {WINDOW} JOIN ports ON id = src"
HUNDRED = tuple(
    f"SELECT {key}, COUNT(*) AS n, SUM(length) AS b FROM packets"
    f" [RANGE {10 * ranges} SECONDS SLIDE 10 SECONDS] GROUP BY {key}"
    for key in ("src", "proto", "port", "zone")
    for ranges in range(1, 26)
)
COMPUTED = f"SELECT proto, SUM(length * 8) AS bits {WINDOW} GROUP BY proto"
WORKLOADS = {
    "no table": (ALONE,),
    "unique keys": (f"{OF_HOSTS} GROUP BY owner",),
    "each key three times": (f"{OF_PORTS} GROUP BY label",),
    "eight queries, both tables": (
        f"{OF_HOSTS} GROUP BY owner",
        f"{OF_HOSTS} WHERE weight > 2 GROUP BY owner",
        f"{OF_HOSTS} WHERE length > 700 GROUP BY owner",
        f"{OF_HOSTS.replace('JOIN', 'LEFT JOIN')} GROUP BY owner",
        f"{OF_PORTS} GROUP BY label",
        f"{OF_PORTS} WHERE low > 2 GROUP BY label",
        f"{OF_PORTS} WHERE length > 700 GROUP BY label",
        f"{OF_PORTS.replace('JOIN', 'LEFT JOIN')} GROUP BY label",
    ),
    "100 queries": HUNDRED,
    "100 queries and a computed column": (*HUNDRED, COMPUTED),
}
ROUTES = {"arrays": "auto", "catalyst": "catalyst"}


@dataclass(frozen=True)
class Figure:
    """One run: processor time for a row, and answers."""

    ns_per_row: float
    answers: int


def main() -> None:
    options = _options()
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    try:
        shape = Shape(rows=options.rows, groups=SOURCES)
        make_files(scratch / "data", shape, options.rows_per_tick, FILES_PER_TICK)
        _make_tables(scratch)
        figures = {name: _measure(name, scratch, options) for name in options.workloads}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _report(figures, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rows-per-tick", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3, help="runs after one of warm-up")
    parser.add_argument("--workloads", default=";".join(WORKLOADS), help="with semicolons")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.workloads = options.workloads.split(";")
    return options


def _make_tables(folder: Path) -> None:
    random = np.random.default_rng(1)
    for name, columns, often in (
        ("hosts", ("id", "owner", "weight"), 1),
        ("ports", ("id", "label", "low"), 3),
    ):
        ids = random.permutation(np.repeat(np.arange(KEYS, dtype=np.int32), often))
        texts = pa.array([f"{columns[1]} {n % 100}" for n in range(len(ids))])
        numbers = pa.array((np.arange(len(ids)) % 7).astype(np.int32))
        pq.write_table(
            pa.table([pa.array(ids), texts, numbers], columns), folder / f"{name}.parquet"
        )


def _measure(name: str, scratch: Path, options: argparse.Namespace) -> dict[str, list[Figure]]:
    runs: dict[str, list[Figure]] = {route: [] for route in ROUTES}
    for turn in range(options.repeats + 1):
        for route, figures in runs.items():
            figure = _run(name, route, scratch, scratch / f"{name}-{route}-{turn}", options.rows)
            tell(f"{name}, {route}: {figure.ns_per_row:.0f} ns a row, {figure.answers:,} answers")
            if turn:
                figures.append(figure)
    if len({figure.answers for figures in runs.values() for figure in figures}) != 1:
        raise SystemExit(f"{name}: the routes differ in the number of answers")
    return runs


def _run(name: str, route: str, scratch: Path, home: Path, rows: int) -> Figure:
    script = SCRIPT.format(
        files=FILES_PER_TICK, scan=ROUTES[route], data=scratch / "data", tables=scratch
    )
    queries = (
        f"CREATE QUERY q{number} INTO out AS {sql};" for number, sql in enumerate(WORKLOADS[name])
    )
    with Engine(home) as engine:
        engine.sql(script + "".join(queries))
        before_s = _processor_seconds()
        report = engine.run("flush")
        used_s = _processor_seconds() - before_s
    if set(report.routes) != {"columnar" if route == "arrays" else route}:
        raise SystemExit(f"{name}: scanned by {report.routes}, not by {route}")
    return Figure(round(used_s / rows * 1e9, 1), sum(report.queries.values()))


def _processor_seconds() -> float:
    """Of this process and of those it has started, Spark's among them."""
    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def _report(figures: dict[str, dict[str, list[Figure]]], options: argparse.Namespace) -> None:
    medians = {
        name: {r: statistics.median(f.ns_per_row for f in runs) for r, runs in by_route.items()}
        for name, by_route in figures.items()
    }
    rows = [[name, *(f"{by_route[r]:.0f}" for r in ROUTES)] for name, by_route in medians.items()]
    header = ["workload", *(f"{route}, ns a row" for route in ROUTES)]
    print_table(f"processor time, {options.rows:,} rows", header, rows)
    if options.json:
        told = {
            name: {route: [asdict(one) for one in runs] for route, runs in by_route.items()}
            for name, by_route in figures.items()
        }
        write_json(options.json, {"medians": medians, "runs": told})


if __name__ == "__main__":
    main()
