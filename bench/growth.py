"""The growth of memory and state with the number of queries, groups and slices.

    tidemill bench growth --json bench/results/growth.json --plot docs/images/growth.svg

Each point is a process of its own, so that no heap is left over from the one before. `driver`
is the Python process that runs the engine, `jvm` Spark's, which holds the executors too on one
machine, `workers` the Python processes of the tasks; `state` is what a home holds on disk
after the last tick, before the flush. A study changes one thing and leaves the others:

- `queries`: the profile `mixed` (or `--profile one`, `--windows multiples`), 1,000 groups;
  registering them is told apart from the run.
- `groups`: one query with full output, uniform keys, so that all groups occur.
- `slices`: one query with full output, 120 s every 120 s down to every 0.1 s, 1,000 groups.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from _harness import print_table, tell, write_json
from _memory import watched_memory
from _rows import Shape, make_files
from plots import plot_growth
from workload import PROFILES, TOTALS, Query, make_queries, script

import tidemill

FILES_PER_TICK = 4
RANGE_MS = 120_000
SLIDES = 12  # in a range, where the number of slices is not studied
STUDIES = {
    "queries": (1, 10, 100, 1_000, 10_000),
    "groups": (1_000, 10_000, 100_000, 1_000_000),
    "slices": (1, 10, 120, 1_200),
}


@dataclass(frozen=True)
class Point:
    """One size of one study."""

    size: int
    memory: dict[str, int]
    state_bytes: int
    seconds: float
    register_seconds: float = 0.0


def main() -> None:
    options = _options()
    if options.point:
        print(json.dumps(asdict(_measure(options))))
        return
    studies = {name: _study(name, options) for name in options.studies.split(",")}
    _report(studies)
    write_json(
        options.json,
        {"growth": {name: [asdict(point) for point in points] for name, points in studies.items()}},
    )
    plot_growth(options.json, options.plot)
    tell(f"wrote {options.json} and {options.plot}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench growth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--rows", type=int, default=4_000_000)
    add("--rate", type=int, default=20_000, help="rows per second of stream time")
    add("--rows-per-tick", type=int, default=1_000_000)
    add("--studies", default=",".join(STUDIES), help="with commas")
    add("--profile", choices=PROFILES, default="mixed", help="of the queries")
    add("--windows", choices=("any", "multiples"), default="any", help="of the queries")
    add("--largest", type=int, default=1_000_000, help="leave out larger sizes")
    add("--point", nargs=2, metavar=("STUDY", "SIZE"), help="measure one point, in this process")
    add("--json", type=Path, default=Path("growth.json"))
    add("--plot", type=Path, default=Path("growth.svg"))
    return parser.parse_args()


def _study(name: str, options: argparse.Namespace) -> list[Point]:
    points = []
    for size in (size for size in STUDIES[name] if size <= options.largest):
        tell(f"{name}: {size:,}")
        points.append(_elsewhere(name, size, options))
        used = points[-1].memory["total"] / 2**30
        tell(f"{name}: {size:,} took {points[-1].seconds:.1f} s and {used:.2f} GiB")
    return points


def _elsewhere(name: str, size: int, options: argparse.Namespace) -> Point:
    """The point, measured by a new process of this program."""
    command = [sys.executable, __file__, "--point", name, str(size)]
    for option in ("rows", "rate", "rows_per_tick", "profile", "windows"):
        command += [f"--{option.replace('_', '-')}", str(getattr(options, option))]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return Point(**json.loads(done.stdout.splitlines()[-1]))


def _measure(options: argparse.Namespace) -> Point:
    name, size = options.point[0], int(options.point[1])
    groups = size if name == "groups" else 1_000
    keys = "zipf" if name == "queries" else "uniform"
    shape = Shape(options.rows, groups, options.rate, keys)
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    try:
        make_files(scratch / "data", shape, options.rows_per_tick, FILES_PER_TICK)
        queries = (
            make_queries(options.profile, size, shape, options.windows) if name == "queries" else []
        )
        return _run(size, _statements(name, size, queries, scratch / "data"), scratch / "home")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _statements(name: str, size: int, queries: Sequence[Query], data: Path) -> list[str]:
    statements = list(script(queries, data, "parquet", FILES_PER_TICK))
    if name != "queries":
        slides = size if name == "slices" else SLIDES
        window = f"[RANGE {RANGE_MS} ms SLIDE {RANGE_MS // slides} ms]"
        totals = ", ".join(TOTALS)
        statements.append(
            f"CREATE QUERY q0 INTO nowhere AS SELECT src, {totals} FROM packets {window} "
            "GROUP BY src;"
        )
    return statements


def _run(size: int, statements: Sequence[str], home: Path) -> Point:
    with watched_memory() as peaks, tidemill.Engine(home) as engine:
        begun = time.perf_counter()
        engine.sql("\n".join(statements))
        register_seconds = time.perf_counter() - begun
        report = engine.run("idle")
        state = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    return Point(size, peaks, state, report.seconds, register_seconds)


def _report(studies: dict[str, list[Point]]) -> None:
    parts = ("total", "driver", "jvm", "workers")
    rows = [
        [
            f"{point.size:,} {name}",
            *(f"{point.memory.get(part, 0) / 2**20:,.0f}" for part in parts),
            f"{point.state_bytes / 2**20:,.1f}",
            f"{point.register_seconds:.1f}",
            f"{point.seconds:.1f}",
        ]
        for name, points in studies.items()
        for point in points
    ]
    print_table("peak MiB", ["what", *parts, "state", "registering", "seconds"], rows)


if __name__ == "__main__":
    main()
