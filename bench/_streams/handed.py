"""Rows that ticks hand over to other streams.

Answers: twenty queries over sums of a second, which are a stream of answers, over the same against
the source. Late: ticks with late rows that a query reads as a stream, over the same ticks that only
set them aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from _ratios import Bench, Figure, Ratio, run_script
from _rows import SCHEMA

from _streams.arrivals import LATE, SMALL_ROWS, SMALL_TICKS, Setup, script_of

TICKS, FILES_PER_TICK = 20, 2
QUERIES = 20
SCRIPT = """
SET tick_files = {files};
CREATE STREAM packets ({schema}) ORDER BY ts SOURCE 'parquet:{data}';
CREATE SINK out TO 'discard:';
CREATE STREAM seconds AS
  SELECT proto, zone, COUNT(*) AS n, SUM(length) AS bytes, MAX(length) AS most
  FROM packets [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY proto, zone;
"""
ITEMS = {
    "answers": ("seconds", "SUM(n) AS n, SUM(bytes) AS bytes, MAX(most) AS most"),
    "source": ("packets", "COUNT(*) AS n, SUM(length) AS bytes, MAX(length) AS most"),
}


def queries(way: str) -> Iterator[str]:
    """Windows of ten seconds and more, by one key or by two."""
    stream, items = ITEMS[way]
    for number in range(QUERIES):
        keys = ("proto", "zone", "proto, zone")[number % 3]
        window = f"RANGE {10 * (1 + number % 5)} SECONDS SLIDE 10 SECONDS"
        select = f"SELECT {keys}, {items} FROM {stream} [{window}] GROUP BY {keys}"
        yield f"CREATE QUERY q{number} INTO out AS {select};"


def run(way: str, bench: Bench) -> Figure:
    data = bench.packets(TICKS, FILES_PER_TICK)
    script = SCRIPT.format(files=FILES_PER_TICK, data=data, schema=SCHEMA)
    used_s, report = run_script(bench, script + "".join(queries(way)))
    if report.streams["packets"]["rows_in"] != bench.rows or set(report.routes) != {"columnar"}:
        raise SystemExit(f"{way}: {report.streams['packets']} by {report.routes}")
    return Figure(used_s, sum(report.queries.values()))


def run_late(reads: bool, bench: Bench) -> Figure:
    rows = SMALL_ROWS * SMALL_TICKS
    script = script_of(Setup("parquet", SMALL_TICKS, 1, LATE, rows), rows, bench)
    if reads:
        script += "CREATE QUERY late INTO out AS SELECT src, late_by_us FROM packets.late;"
    used_s, report = run_script(bench, script)
    if reads != bool(report.queries.get("late")) or not report.rows_late:
        raise SystemExit(f"{report.rows_late:,} late rows: {report.queries}")
    return Figure(used_s, report.rows_late)


RATIOS = (
    Ratio(
        "answers",
        "20 queries over a stream of a second's answers over the same against the source",
        1.5,
        partial(run, "answers"),
        partial(run, "source"),
    ),
    Ratio(
        "late-stream",
        "ticks of 3,000 rows whose late rows are read as a stream over the same without",
        2.0,
        partial(run_late, True),
        partial(run_late, False),
    ),
)
