"""A hundred plain queries beside the same and one over a stream with a computed column."""

from __future__ import annotations

from functools import partial

from _ratios import Bench, Figure, Ratio, run_script
from _rows import SCHEMA

from _streams.derived import QUERIES, queries

TICKS, FILES_PER_TICK = 10, 4
SCRIPT = """
SET tick_files = {files};
CREATE STREAM packets ({schema}) ORDER BY ts SOURCE 'parquet:{data}';
CREATE STREAM in_bits AS SELECT ts, src, length * 8 AS bits FROM packets;
CREATE SINK out TO 'discard:';
"""
COMPUTED = """
CREATE QUERY computed INTO out AS
SELECT src, SUM(bits) AS bits FROM in_bits [RANGE 10 s SLIDE 5 s] GROUP BY src;
"""


def run(is_computed: bool, bench: Bench) -> Figure:
    data = bench.packets(TICKS, FILES_PER_TICK)
    script = SCRIPT.format(files=FILES_PER_TICK, schema=SCHEMA, data=data)
    plain = "".join(queries("source", QUERIES))
    used_s, report = run_script(bench, script + plain + COMPUTED * is_computed)
    if bool(report.queries.get("computed")) != is_computed or report.rows_in != bench.rows:
        raise SystemExit(f"{report.rows_in:,} rows, answers: {report.queries.get('computed')}")
    return Figure(used_s, sum(report.queries.values()) - report.queries.get("computed", 0))


RATIOS = (
    Ratio(
        "computed",
        "100 plain queries and one of `length * 8` over the 100",
        2.0,
        partial(run, True),
        partial(run, False),
    ),
)
