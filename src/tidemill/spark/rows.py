"""Step 1: the rows of a tick, timed and judged; late and malformed ones set aside."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemill.catalog import Stream
from tidemill.spark.partials import CORRUPT, TIME, Admission, malformed_sql, tick_constant
from tidemill.spark.sources import Input, Source

Rows = DataFrame


def admission(stream: Stream, source: Source, watermark_us: int | None) -> Admission:
    names = tuple(column.name for column in stream.stored_columns) if source.is_text else ()
    return Admission(watermark_us, names)


def read_rows(
    session: SparkSession,
    stream: Stream,
    source: Source,
    taken: Input,
    columns: Sequence[str],
    batch_time_us: int,
) -> DataFrame:
    """The columns asked for plus `_t`, the row's time; text sources give all columns."""
    stored = [c.name for c in stream.stored_columns]
    if source.is_text or not stream.stamped_on_arrival:
        needed = {name.lower() for name in (*columns, stream.time_column)}
    else:
        needed = {name.lower() for name in (*columns, stored[0])}
    names = [n for n in stored if source.is_text or n.lower() in needed]
    rows = source.read(session, taken, names)
    if not stream.stamped_on_arrival:
        return rows.withColumn(TIME, F.expr(f"UNIX_MICROS(`{stream.time_column}`)"))
    stamp = tick_constant(batch_time_us).replace(TIME, f"`{names[0]}`")
    stamped = rows.withColumn(TIME, F.expr(stamp))
    return stamped.withColumn(stream.time_column, F.expr(f"TIMESTAMP_MICROS({TIME})"))


def set_aside(
    session: SparkSession,
    stream: Stream,
    source: Source,
    taken: Input,
    judged_by: Admission,
    batch_time_us: int,
    folder: Path,
    tick: int,
    late: bool,
    malformed: bool,
) -> None:
    """Write the late and the malformed rows of a tick; again gives the same files."""
    names = [column.name for column in stream.columns]
    rows = read_rows(session, stream, source, taken, names, batch_time_us)
    wrong = f"COALESCE({malformed_sql(judged_by)}, FALSE)"
    if late:
        before = f"NOT ({wrong}) AND {TIME} < {judged_by.watermark_us}L"
        _write(rows.where(before).select(*names), folder / "late", tick)
    if malformed:
        raw = f"COALESCE({CORRUPT}, {_as_json(names)})" if source.is_text else _as_json(names)
        reason = f"IF({TIME} IS NULL, 'no event time', 'event time out of range')"
        if source.is_text:
            reason = f"IF({CORRUPT} IS NOT NULL, 'does not parse', {reason})"
        bad = rows.where(wrong).selectExpr(f"{raw} AS record", f"{reason} AS reason")
        _write(bad, folder / "malformed", tick)


def _as_json(names: Sequence[str]) -> str:
    return f"TO_JSON(STRUCT({', '.join(f'`{name}`' for name in names)}))"


def _write(rows: DataFrame, folder: Path, tick: int) -> None:
    """One file per tick, put in place whole."""
    # A killed run may still be writing: every attempt has a place of its own.
    scratch = folder / f"_{uuid.uuid4().hex}"
    rows.coalesce(1).write.mode("overwrite").parquet(f"file:{scratch}")
    for part in scratch.glob("*.parquet"):
        part.replace(folder / f"tick-{tick:08d}.parquet")
    shutil.rmtree(scratch)
