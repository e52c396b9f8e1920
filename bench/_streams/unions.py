"""A hundred queries on each of two sources and a hundred on their union, with equal keys,
conditions and windows, over the two hundred without those on the union."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial

from _ratios import Bench, Figure, Ratio, run_script
from _rows import SCHEMA

from _streams.derived import FILES_PER_TICK, KEYS, TICKS, WINDOWS
from tidemill import Engine

QUERIES = 100
SOURCE = "CREATE STREAM {name} ({schema}) ORDER BY ts SOURCE 'parquet:{data}';"
NAMES = {"p": "proto", "z": "zone", "p, q": "proto, port", "": ""}


def queries(stream: str) -> Iterator[str]:
    """A hundred over a stream."""
    for number in range(QUERIES):
        keys = NAMES[KEYS[number % len(KEYS)]]
        group = f"GROUP BY {keys}" if keys else ""
        items = ", ".join([*([keys] if keys else []), "COUNT(*) AS n", "SUM(length) AS bytes"])
        select = f"SELECT {items} FROM {stream} [{WINDOWS[number % len(WINDOWS)]}]"
        condition = f"length > {100 * (number % 10)}"
        yield f"CREATE QUERY {stream}{number} INTO out AS {select} WHERE {condition} {group};"


def script(way: str, bench: Bench) -> str:
    """Both sources have the same files, so neither is ahead for long."""
    data = bench.packets(TICKS, FILES_PER_TICK)
    head = f"SET tick_files = {FILES_PER_TICK}; CREATE SINK out TO 'discard:';"
    sources = (SOURCE.format(name=name, schema=SCHEMA, data=data) for name in ("a", "b"))
    union = "CREATE STREAM both AS SELECT * FROM a UNION ALL SELECT * FROM b;"
    streams = ("a", "b", "both") if way == "union" else ("a", "b")
    return "".join([head, *sources, union, *(text for name in streams for text in queries(name))])


def used(way: str, bench: Bench) -> Figure:
    """What the ticks take."""
    used_s, report = run_script(bench, script(way, bench))
    if report.rows_in != 2 * bench.rows or set(report.routes) != {"columnar"}:
        raise SystemExit(f"{way}: {report.rows_in:,} rows by {report.routes}")
    return Figure(used_s)


def kept(way: str, bench: Bench) -> Figure:
    """The rows of state when all input has been taken."""
    home = bench.new_folder()
    try:
        with Engine(home / "home") as engine:
            engine.sql(script(way, bench))
            streams = engine.run("idle").streams.values()
    finally:
        shutil.rmtree(home)
    return Figure(sum(float(str(stream["state_rows"])) for stream in streams))


RATIOS = (
    Ratio(
        "union",
        "100 queries on each of two sources and 100 on their union over the 200",
        1.3,
        partial(used, "union"),
        partial(used, "apart"),
    ),
    Ratio(
        "union-state",
        "the same: rows of state",
        1.05,
        partial(kept, "union"),
        partial(kept, "apart"),
        "rows",
    ),
)
