"""Queries over derived streams beside the same queries written against their source.

    tidemill bench streams --json bench/results/streams.json

A hundred queries over ten streams, each with a condition and other names for its columns, and
streams over streams among them. Both ways are run in turn, in one process and on the same
files, and the medians of processor time are told, for registering the queries and for running
them. Both must give as many answers.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from _harness import print_table, tell, write_json
from _rows import SCHEMA, Shape, make_files

from tidemill import Engine

FILES_PER_TICK = 4
SCRIPT = """
SET tick_files = {files};
CREATE STREAM packets ({schema}) ORDER BY ts SOURCE 'parquet:{data}';
CREATE SINK out TO 'discard:';
"""
# By stream: what it reads, its condition there, and the same in words of the source.
STREAMS = (
    ("s0", "packets", "length > 1000", "length > 1000"),
    ("s1", "packets", "proto = 'UDP'", "proto = 'UDP'"),
    ("s2", "packets", "port IN (80, 443)", "port IN (80, 443)"),
    ("s3", "packets", "length BETWEEN 100 AND 900", "length BETWEEN 100 AND 900"),
    ("s4", "packets", "zone = 'dmz-1'", "zone = 'dmz-1'"),
    ("s5", "s0", "p0 = 'TCP'", "length > 1000 AND proto = 'TCP'"),
    ("s6", "s2", "b2 < 600", "port IN (80, 443) AND length < 600"),
    ("s7", "s5", "q5 IS NOT NULL", "length > 1000 AND proto = 'TCP' AND port IS NOT NULL"),
    ("s8", "s1", "q1 = 53", "proto = 'UDP' AND port = 53"),
    ("s9", "packets", "TRUE", "TRUE"),
)
WINDOWS = ("RANGE 10 s SLIDE 5 s", "RANGE 30 s SLIDE 10 s", "RANGE 1 MINUTE SLIDE 10 s")
KEYS = ("p", "z", "p, q", "")
WAYS = ("source", "streams")


@dataclass(frozen=True)
class Figure:
    """One run: processor time, and answers."""

    registering_s: float
    running_s: float
    answers: int


def streams() -> Iterator[str]:
    """Each renames the columns of what it reads."""
    for name, below, condition, _ in STREAMS:
        new = [f"{letter}{name[1:]}" for letter in "tpqzb"]
        old = ["ts", "proto", "port", "zone", "length"]
        if below != "packets":
            old = [f"{letter}{below[1:]}" for letter in "tpqzb"]
        items = ", ".join(f"{was} AS {now}" for was, now in zip(old, new, strict=True))
        yield f"CREATE STREAM {name} AS SELECT {items} FROM {below} WHERE {condition};"


def queries(way: str, count: int) -> Iterator[str]:
    """The same ones, in words of a stream or of the source."""
    for number in range(count):
        name, _, _, condition = STREAMS[number % len(STREAMS)]
        mark = name[1:]
        words = {letter: f"{letter}{mark}" for letter in "pqzb"}
        source, where = name, f"b{mark} > {number}"
        if way == "source":
            words = {"p": "proto", "q": "port", "z": "zone", "b": "length"}
            source, where = "packets", f"{condition} AND length > {number}"
        keys = [words[key] for key in KEYS[number % len(KEYS)].replace(",", "").split()]
        group = f"GROUP BY {', '.join(keys)}" if keys else ""
        items = ", ".join([*keys, "COUNT(*) AS n", f"SUM({words['b']}) AS bytes"])
        window = WINDOWS[number % len(WINDOWS)]
        select = f"SELECT {items} FROM {source} [{window}] WHERE {where} {group}"
        yield f"CREATE QUERY x{number} INTO out AS {select};"


def main() -> None:
    options = _options()
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    runs: dict[str, list[Figure]] = {way: [] for way in WAYS}
    try:
        make_files(
            scratch / "data", Shape(rows=options.rows), options.rows_per_tick, FILES_PER_TICK
        )
        for turn in range(options.repeats + 1):
            for way, figures in runs.items():
                figure = _run(way, scratch, scratch / f"{way}-{turn}", options)
                tell(f"{way}: {figure.running_s:.2f} s, {figure.answers:,} answers")
                if turn:
                    figures.append(figure)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if len({figure.answers for figures in runs.values() for figure in figures}) != 1:
        raise SystemExit("the two ways differ in the number of answers")
    _report(runs, options)


def _run(way: str, scratch: Path, home: Path, options: argparse.Namespace) -> Figure:
    script = SCRIPT.format(files=FILES_PER_TICK, data=scratch / "data", schema=SCHEMA)
    derived = streams() if way == "streams" else ()
    with Engine(home) as engine:
        started = time.process_time()
        engine.sql("".join([script, *derived, *queries(way, options.queries)]))
        registered = time.process_time()
        report = engine.run("flush")
        ended = time.process_time()
    if report.rows_in != options.rows or set(report.routes) != {"columnar"}:
        raise SystemExit(f"{way}: {report.rows_in:,} rows by {report.routes}")
    answers = sum(report.queries.values())
    return Figure(round(registered - started, 3), round(ended - registered, 3), answers)


def _report(runs: dict[str, list[Figure]], options: argparse.Namespace) -> None:
    parts = ("registering_s", "running_s")
    medians = {
        way: {part: statistics.median(getattr(f, part) for f in figures) for part in parts}
        for way, figures in runs.items()
    }
    ratios = {p: round(medians["streams"][p] / medians["source"][p], 3) for p in parts}
    rows = [[way, *(f"{medians[way][part]:.2f} s" for part in parts)] for way in WAYS]
    rows.append(["ratio", *(f"{ratios[part]:.2f}" for part in parts)])
    title = f"processor time, {options.queries} queries, {options.rows:,} rows"
    print_table(title, ["written against", "registering", "running"], rows)
    if options.json:
        told = {way: [asdict(figure) for figure in figures] for way, figures in runs.items()}
        write_json(options.json, {"medians": medians, "ratios": ratios, "runs": told})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench streams",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rows-per-tick", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3, help="runs after one of warm-up")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
