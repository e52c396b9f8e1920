"""The rows of a tick as Spark reads them; late and malformed ones set aside."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tidemill.catalog import Stream
from tidemill.connect.sources import AnySource, Input
from tidemill.connect.sources.contract import columns_to_read
from tidemill.language.names import quote_name
from tidemill.scan.contract import (
    LATE,
    MALFORMED,
    NO_TIME,
    NOT_PARSED,
    OUT_OF_RANGE,
    Admission,
    SideFiles,
)
from tidemill.spark.catalyst.admission import CORRUPT, late_sql, malformed_sql, timed_items
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


def set_aside_in_catalyst(
    session: SparkSession,
    source: AnySource,
    portion: Input,
    admission: Admission,
    verdicts: Collection[int],
    files: SideFiles,
) -> None:
    """Write the rows of these verdicts, LATE and MALFORMED; again gives the same files."""
    stream = admission.stream
    names = [column.name for column in stream.columns]
    rows = read_rows(session, stream, source, portion, names)
    rows = rows.selectExpr("*", *timed_items(admission))
    if LATE in verdicts:
        late = rows.where(f"NOT ({malformed_sql(admission)}) AND {late_sql(admission)}")
        _write(late.select(*map(quote_name, names)), files, LATE)
    if MALFORMED in verdicts:
        malformed = rows.where(malformed_sql(admission))
        _write(malformed.selectExpr(*_record_and_reason(admission, names)), files, MALFORMED)


def _record_and_reason(admission: Admission, names: Sequence[str]) -> tuple[str, str]:
    fields = ", ".join(map(quote_name, names))
    record = f"TO_JSON(STRUCT({fields}))"
    time = quote_name(admission.stream.time_column)
    reason = f"IF({time} IS NULL, '{NO_TIME}', '{OUT_OF_RANGE}')"
    if admission.is_text:
        record = f"COALESCE({CORRUPT}, {record})"
        reason = f"IF({CORRUPT} IS NOT NULL, '{NOT_PARSED}', {reason})"
    return f"{record} AS record", f"{reason} AS reason"


def _write(rows: DataFrame, files: SideFiles, verdict: int) -> None:
    """One file, put in place whole."""
    scratch = files.scratch(verdict)
    rows.coalesce(1).write.parquet(f"file:{scratch}")
    for part in scratch.glob("*.parquet"):
        part.replace(files.path(verdict))
    shutil.rmtree(scratch)
