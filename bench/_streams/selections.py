"""Queries without a window beside Spark's own read, filter and write of the same rows.

A selection of a tenth of the rows goes into a `parquet:` sink in one tick, as it is by default
with so many: plain columns on arrays, others in Catalyst. Spark does the same with `read`, `where`,
`select` and `write` in one job of the same process. Both must give the same rows.
"""

from __future__ import annotations

import shutil
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from _ratios import Bench, Figure, Ratio, run_script, timed
from _rows import SCHEMA

from tidemill.spark.session import start_session

TICKS, FILES = 1, 8
SCRIPT = """
CREATE STREAM packets ({schema}) ORDER BY ts SOURCE 'parquet:{data}';
CREATE SINK out TO 'parquet:{out}';
CREATE QUERY q INTO out AS SELECT {select} FROM packets WHERE {where};
"""
PLAIN, COMPUTED = "ts, src, port, length", "ts, src, length * 8 AS bits, UPPER(zone) AS zone"


def by_query(select: str, route: str, bench: Bench) -> Figure:
    data, out = bench.packets(TICKS, FILES), bench.new_folder()
    words = {"schema": SCHEMA, "data": data, "out": out}
    script = SCRIPT.format(**words, select=select, where=_tenth(data))
    used_s, report = run_script(bench, script, spark=True)
    if not all(route in name for name in report.routes):
        raise SystemExit(f"{select}: by {report.routes}")
    return Figure(used_s, _rows_below(out / "query=q"))


def by_spark(select: str, bench: Bench) -> Figure:
    session, out = start_session(), bench.new_folder() / "rows"
    data = bench.packets(TICKS, FILES)

    def write() -> None:
        rows = session.read.parquet(str(data)).where(_tenth(data))
        rows.selectExpr(*select.split(", ")).write.parquet(str(out))

    return Figure(timed(write), _rows_below(out))


def _rows_below(folder: Path) -> int:
    """How many; they have been of use then."""
    files = [str(p) for p in sorted(folder.glob("*.parquet")) if not p.name.startswith("_")]
    rows: int = ds.dataset(files).count_rows()
    shutil.rmtree(folder)
    return rows


@cache
def _tenth(folder: Path) -> str:
    """A condition that about a tenth of the rows satisfy."""
    first = min(folder.glob("*.parquet"))
    lengths = pq.read_table(first, columns=["length"]).column("length").to_numpy()
    low, high = np.quantile(lengths, [0.45, 0.55]).astype(int).tolist()
    return f"length BETWEEN {low} AND {high}"


RATIOS = (
    Ratio(
        "selection-plain",
        "a selection of 10 % into parquet: over Spark's own, plain columns",
        0.6,
        partial(by_query, PLAIN, "columnar"),
        partial(by_spark, PLAIN),
    ),
    Ratio(
        "selection-catalyst",
        "a selection of 10 % into parquet: over Spark's own, through Catalyst",
        1.5,
        partial(by_query, COMPUTED, "catalyst"),
        partial(by_spark, COMPUTED),
    ),
)
