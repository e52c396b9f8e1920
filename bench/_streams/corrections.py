"""A hundred queries over a stream on which one row of a hundred comes late, by up to ten seconds.

Corrected: windows close after a short lateness, and those that a late row touches are answered
again. By: a lateness that covers all of them, so that every window is answered once.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from _ratios import Bench, Figure, Ratio, run_script
from _rows import SCHEMA, Shape, make_rows

from _streams.derived import QUERIES, queries

TICKS, FILES_PER_TICK = 20, 2
LATE_SHARE, LATEST_US = 0.01, 10_000_000
CORRECTED = "lateness = '100 milliseconds', correct = '10 seconds'"
COVERED = "lateness = '10100 milliseconds'"
SCRIPT = """
SET tick_files = {files};
CREATE STREAM packets ({schema}) ORDER BY ts SOURCE 'parquet:{data}' WITH ({options});
CREATE SINK out TO 'discard:';
"""


def run(options: str, bench: Bench) -> Figure:
    data = _files(bench.rows, bench.scratch)
    script = SCRIPT.format(files=FILES_PER_TICK, data=data, schema=SCHEMA, options=options)
    used_s, report = run_script(bench, "".join([script, *queries("source", QUERIES)]))
    corrects = options == CORRECTED
    share = report.rows_corrected / bench.rows
    if report.rows_in != bench.rows or report.rows_late or (share > LATE_SHARE / 2) != corrects:
        raise SystemExit(f"{options}: {report.rows_corrected:,} corrected, {report.rows_late} late")
    return Figure(used_s)


def _files(rows: int, scratch: Path) -> Path:
    """Made once, in the order in which the rows arrive."""
    folder = scratch / f"corrected-{rows}"
    if not folder.exists():
        folder.mkdir()
        table = _arriving(rows)
        each = -(-rows // (TICKS * FILES_PER_TICK))
        for number, first in enumerate(range(0, rows, each)):
            path = folder / f"{number:05d}.parquet"
            pa.parquet.write_table(table.slice(first, each), path)
    return folder


def _arriving(rows: int) -> pa.Table:
    table, rng = make_rows(Shape(rows=rows), 0, rows, 1), np.random.default_rng(2)
    delays_us = rng.integers(0, LATEST_US, rows) * (rng.random(rows) < LATE_SHARE)
    times_us = table.column("ts").cast(pa.int64()).to_numpy()
    return table.take(pa.array(np.argsort(times_us + delays_us, kind="stable")))


RATIOS = (
    Ratio(
        "corrected",
        "100 queries, 1 % of rows correct, over a lateness that covers them",
        2.0,
        partial(run, CORRECTED),
        partial(run, COVERED),
    ),
)
