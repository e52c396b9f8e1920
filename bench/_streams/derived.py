"""A hundred queries over ten streams, each with a condition and other names for its columns, and
streams over streams among them, beside the same queries written against their source."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from _ratios import Bench, Figure, Ratio, run_script
from _rows import SCHEMA

TICKS, FILES_PER_TICK = 10, 4
QUERIES = 100
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


def run(way: str, bench: Bench) -> Figure:
    """Registering the queries included, which is what derived streams could make dearer."""
    data = bench.packets(TICKS, FILES_PER_TICK)
    script = SCRIPT.format(files=FILES_PER_TICK, data=data, schema=SCHEMA)
    derived = streams() if way == "streams" else ()
    whole = "".join([script, *derived, *queries(way, QUERIES)])
    used_s, report = run_script(bench, whole, registering=True)
    if report.rows_in != bench.rows or set(report.routes) != {"columnar"}:
        raise SystemExit(f"{way}: {report.rows_in:,} rows by {report.routes}")
    return Figure(used_s, sum(report.queries.values()))


RATIOS = (
    Ratio(
        "derived",
        "100 queries over ten derived streams over the same against the source",
        1.05,
        partial(run, "streams"),
        partial(run, "source"),
    ),
)
