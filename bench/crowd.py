"""Thousands of queries over one group-by, by processor time.

    tidemill bench crowd --json bench/results/crowd.json

Queries of the profile `one` (`tidemill bench workload` tells of them), or of `--profile`. With
`any` windows most of ten thousand differ in window or ending; with `multiples`, whose range is a
multiple of the slide, most ask what another asks too. All sizes are run in turn, each with a home
of its own, in one process and on the same files, and the medians of processor time are told, for
registering the queries and for running them.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

from _harness import print_table, tell, write_json
from _processor import processor_seconds
from _rows import Shape, make_files
from workload import PROFILES, Query, make_queries, script

from tidemill import Engine

FILES_PER_TICK = 4


@dataclass(frozen=True)
class Size:
    """So many queries, with windows of a kind."""

    windows: str
    queries: int


@dataclass(frozen=True)
class Figure:
    """One run: processor time, and answers."""

    registering_s: float
    running_s: float
    answers: int


def main() -> None:
    options = _options()
    counts = [int(word) for word in options.queries.split(",")]
    sizes = list(map(Size, *zip(*product(options.windows.split(","), counts), strict=True)))
    shape = Shape(rows=options.rows)
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    runs: dict[Size, list[Figure]] = {size: [] for size in sizes}
    try:
        make_files(scratch / "data", shape, options.rows_per_tick, FILES_PER_TICK)
        for turn, (size, figures) in product(range(options.repeats + 1), runs.items()):
            queries = make_queries(options.profile, size.queries, shape, size.windows)
            figure = _run(queries, scratch)
            tell(f"{size.windows}, {size.queries:,}: {figure.running_s:.2f} s")
            figures += [figure] if turn else []
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _report(list(_told(runs, options, shape)), options)


def _run(queries: list[Query], scratch: Path) -> Figure:
    home = scratch / "home"
    with Engine(home) as engine:
        started = processor_seconds()
        engine.sql("\n".join(script(queries, scratch / "data", "parquet", FILES_PER_TICK)))
        registered = processor_seconds()
        report = engine.run("flush")
        ended = processor_seconds()
    shutil.rmtree(home)
    answers = sum(report.queries.values())
    return Figure(round(registered - started, 3), round(ended - registered, 3), answers)


def _told(
    runs: dict[Size, list[Figure]], options: argparse.Namespace, shape: Shape
) -> Iterator[dict[str, object]]:
    for size, figures in runs.items():
        queries = make_queries(options.profile, size.queries, shape, size.windows)
        yield {
            **asdict(size),
            "different": len({replace(query, name="") for query in queries}),
            "registering_s": statistics.median(f.registering_s for f in figures),
            "running_s": statistics.median(f.running_s for f in figures),
            "answers": figures[0].answers,
            "runs": [asdict(figure) for figure in figures],
        }


def _report(told: list[dict[str, object]], options: argparse.Namespace) -> None:
    header = ["windows", "queries", "different", "registering", "running", "answers"]
    rows = [
        [
            str(size["windows"]),
            f"{size['queries']:,}",
            f"{size['different']:,}",
            f"{size['registering_s']:.2f} s",
            f"{size['running_s']:.2f} s",
            f"{size['answers']:,}",
        ]
        for size in told
    ]
    print_table(f"processor time, {options.profile}, {options.rows:,} rows", header, rows)
    if options.json:
        write_json(options.json, {"sizes": told})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench crowd",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rows-per-tick", type=int, default=2_000_000)
    parser.add_argument("--profile", choices=PROFILES, default="one")
    parser.add_argument("--queries", default="1,1000,10000", help="numbers, with commas")
    parser.add_argument("--windows", default="any,multiples", help="with commas")
    parser.add_argument("--repeats", type=int, default=3, help="runs after one of warm-up")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
