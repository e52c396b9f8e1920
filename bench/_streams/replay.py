"""A recording that is played in forty ticks, over four: each reads its own stretch alone."""

from __future__ import annotations

from functools import partial

from _ratios import Bench, Figure, Ratio, run_script
from _rows import SCHEMA

FILES = 40
SCRIPT = """
SET tick_rows = {rows};
CREATE STREAM packets ({schema}) ORDER BY ts SOURCE 'replay:{data}?speed=0';
CREATE SINK out TO 'discard:';
CREATE QUERY a INTO out AS SELECT src, COUNT(*) AS n, SUM(length) AS b
  FROM packets [RANGE 60 SECONDS SLIDE 10 SECONDS] GROUP BY src;
CREATE QUERY b INTO out AS SELECT proto, zone, MAX(length) AS m
  FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS] WHERE port = 443 GROUP BY proto, zone;
"""


def run(ticks: int, bench: Bench) -> Figure:
    data = bench.packets(FILES, 1)
    script = SCRIPT.format(rows=-(-bench.rows // ticks), schema=SCHEMA, data=data)
    used_s, report = run_script(bench, script)
    if report.rows_in != bench.rows or not ticks <= report.ticks <= ticks + 2:
        raise SystemExit(f"{ticks} ticks: {report.rows_in:,} rows in {report.ticks}")
    return Figure(used_s, report.queries)


RATIOS = (Ratio("replay", "replay: in 40 ticks over 4", 1.5, partial(run, 40), partial(run, 4)),)
