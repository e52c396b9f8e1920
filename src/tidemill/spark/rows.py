"""The rows of a tick as Spark reads them; late and malformed ones set aside."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidemill.catalog import Stream
from tidemill.catalog.handed import LATE_BY
from tidemill.connect.sources import AnySource, Input
from tidemill.connect.sources.contract import columns_to_read
from tidemill.language.names import quote_name
from tidemill.scan.contract import (
    AHEAD,
    LATE,
    MALFORMED,
    NO_TIME,
    NOT_PARSED,
    OUT_OF_RANGE,
    Admission,
    SideFiles,
    scratch_beside,
)
from tidemill.spark.catalyst.admission import (
    CORRUPT,
    TIME,
    bound_sql,
    late_sql,
    malformed_sql,
    timed_items,
)
from tidemill.spark.catalyst.arrivals import read_admitted
from tidemill.spark.jobs import Workplace, WorkSize, workplace_of
from tidemill.spark.readers import frame_of
from tidemill.time import EARLIEST_US, LATEST_US

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows: TypeAlias = "DataFrame"
# Names that no declared column has.
_VERDICT, _RECORD, _REASON, _LATE_BY = "_verdict", "_record", "_reason", "_late_by"


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


def admitted_rows(
    session: SparkSession,
    source: AnySource,
    portion: Input,
    admission: Admission,
    columns: Sequence[str],
) -> DataFrame:
    """The same of the arrivals that are admitted, with what is needed to judge them."""
    names = columns_to_read(admission.stream, columns, source.is_text)
    return read_admitted(session, source.read(portion, names), admission)


def set_aside_in_catalyst(
    session: SparkSession,
    source: AnySource,
    portion: Input,
    admission: Admission,
    verdicts: Collection[int],
    files: SideFiles,
    refused: int,
) -> None:
    """Write the rows of these verdicts, LATE and MALFORMED; again gives the same files.

    `refused` is the number of all these rows: few of them come to the driver, which writes a file
    in a small part of the time that Spark takes.
    """
    names = [column.name for column in admission.stream.columns]
    rows = admitted_rows(session, source, portion, admission, names)
    rows = rows.selectExpr("*", *timed_items(admission))
    verdict = f"CASE WHEN {malformed_sql(admission)} THEN {MALFORMED}"
    verdict += f" WHEN {late_sql(admission)} THEN {LATE} END AS {_VERDICT}"
    rows = rows.selectExpr("*", verdict)
    late_by = f"{bound_sql(admission)} - {TIME} AS {_LATE_BY}"
    items = (*map(quote_name, names), late_by, *_record_and_reason(admission, names))
    rows = rows.selectExpr(_VERDICT, *items)
    rows = rows.where(f"{_VERDICT} IN ({', '.join(map(str, verdicts))})")
    columns = {LATE: [*names, _LATE_BY], MALFORMED: [_RECORD, _REASON]}
    stored = {LATE: [*names, LATE_BY.name], MALFORMED: ["record", "reason"]}
    if workplace_of(WorkSize(partial_rows=refused)) is Workplace.JOB:
        for number in verdicts:
            chosen = rows.where(f"{_VERDICT} = {number}").select(*map(quote_name, columns[number]))
            _write_there(chosen.toDF(*stored[number]), files, number)
        return
    table = rows.toArrow()
    for number in verdicts:
        chosen_rows = table.filter(pc.equal(table.column(_VERDICT), number))
        chosen_rows = chosen_rows.select(columns[number]).rename_columns(stored[number])
        _write_here(chosen_rows, files, number)


def _record_and_reason(admission: Admission, names: Sequence[str]) -> tuple[str, str]:
    """A record is NULL in rows that are not malformed, and the reason means nothing there."""
    fields = ", ".join(map(quote_name, names))
    record = f"TO_JSON(STRUCT({fields}))"
    reason = f"'{NOT_PARSED}'"  # of rows that are stamped, whose time is none to refuse
    if not admission.stream.stamped_on_arrival:
        time = quote_name(admission.stream.time_column)
        is_sane = f"UNIX_MICROS({time}) BETWEEN {EARLIEST_US}L AND {LATEST_US}L"
        reason = f"IF({time} IS NULL, '{NO_TIME}', IF({is_sane}, '{AHEAD}', '{OUT_OF_RANGE}'))"
    if admission.is_text:
        record = f"COALESCE({CORRUPT}, {record})"
        reason = f"IF({CORRUPT} IS NOT NULL, '{NOT_PARSED}', {reason})"
    return (
        f"IF({_VERDICT} = {MALFORMED}, {record}, NULL) AS {_RECORD}",
        f"{reason} AS {_REASON}",
    )


def _write_here(rows: pa.Table, files: SideFiles, verdict: int) -> None:
    """Few rows, which have come to the driver; decimals as Spark stores them."""
    for place, names in files.places(verdict, rows.column_names).items():
        scratch = scratch_beside(place)
        pq.write_table(rows.select(names), scratch, store_decimal_as_integer=True)
        scratch.replace(place)


def _write_there(rows: DataFrame, files: SideFiles, verdict: int) -> None:
    """One file for each place, put there whole."""
    for place, names in files.places(verdict, rows.columns).items():
        scratch = scratch_beside(place)
        chosen = rows.select(*map(quote_name, names))
        chosen.coalesce(1).write.parquet(f"file:{scratch}")
        for part in scratch.glob("*.parquet"):
            part.replace(place)
        shutil.rmtree(scratch)
