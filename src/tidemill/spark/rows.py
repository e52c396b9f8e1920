"""Step 1: the rows of a tick; late and malformed ones set aside."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tidemill.catalog import Stream
from tidemill.connect.sources import AnySource, Input
from tidemill.connect.sources.contract import columns_to_read
from tidemill.language.names import quote_name
from tidemill.spark.catalyst.admission import CORRUPT, Admission
from tidemill.spark.jobs import GetSession
from tidemill.spark.readers import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows: TypeAlias = "DataFrame"


def read_rows(
    session: SparkSession,
    stream: Stream,
    source: AnySource,
    portion: Input,
    columns: Sequence[str],
) -> DataFrame:
    """The rows of an input: these columns and the time column; of text all columns."""
    names = columns_to_read(stream, columns, source.is_text)
    return frame_of(session, source.read(portion, names))


def set_aside(
    session: GetSession,
    source: AnySource,
    portion: Input | None,
    admission: Admission,
    folder: Path,
    tick: int,
    late: bool,
    malformed: bool,
) -> None:
    """Write the late and the malformed rows of a tick; again gives the same files.

    An attempt that was given up may have left files under the tick's number: they go first.
    """
    for aside in ("late", "malformed"):
        (folder / aside / _file(tick)).unlink(missing_ok=True)
    if portion is None or not (late or malformed):
        return
    stream = admission.stream
    names = [column.name for column in stream.columns]
    rows = read_rows(session(), stream, source, portion, names)
    rows = rows.selectExpr("*", *admission.timed_items)
    if late:
        late_rows = rows.where(f"NOT ({admission.malformed_sql}) AND {admission.late_sql}")
        _write(late_rows.select(*map(quote_name, names)), folder / "late", tick)
    if malformed:
        wrong = rows.where(admission.malformed_sql)
        _write(wrong.selectExpr(*_record_and_reason(admission, names)), folder / "malformed", tick)


def _record_and_reason(admission: Admission, names: Sequence[str]) -> tuple[str, str]:
    fields = ", ".join(map(quote_name, names))
    record = f"TO_JSON(STRUCT({fields}))"
    time = quote_name(admission.stream.time_column)
    reason = f"IF({time} IS NULL, 'no event time', 'event time out of range')"
    if admission.is_text:
        record = f"COALESCE({CORRUPT}, {record})"
        reason = f"IF({CORRUPT} IS NOT NULL, 'does not parse', {reason})"
    return f"{record} AS record", f"{reason} AS reason"


def _file(tick: int) -> str:
    return f"tick-{tick:08d}.parquet"


def _write(rows: DataFrame, folder: Path, tick: int) -> None:
    """One file per tick, put in place whole."""
    # A killed run may still be writing: every attempt has a place of its own.
    scratch = folder / f"_{uuid.uuid4().hex}"
    rows.coalesce(1).write.mode("overwrite").parquet(f"file:{scratch}")
    for part in scratch.glob("*.parquet"):
        part.replace(folder / _file(tick))
    shutil.rmtree(scratch)
