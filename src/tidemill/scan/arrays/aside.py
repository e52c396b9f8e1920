"""The side files of a tick by arrays: late rows and malformed records, read again in whole.

A scan reads the columns that queries need, and side files have all of them. So a scan notes the
parts in which it refused rows, and only these are read, or made, again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.arrays import Array, BoolArray
from tidemill.catalog import Stream
from tidemill.catalog.handed import LATE_BY
from tidemill.scan.arrays.chunk import Chunk, ChunkColumn
from tidemill.scan.arrays.files import (
    UNREADABLE,
    MadeRows,
    Part,
    RowGroup,
    parts_of,
    read_batches,
)
from tidemill.scan.arrays.judging import Judge
from tidemill.scan.arrays.program import Program, whole_rows
from tidemill.scan.arrays.records import is_plain_record, json_records
from tidemill.scan.contract import (
    AHEAD,
    LATE,
    MALFORMED,
    NO_TIME,
    OUT_OF_RANGE,
    Admission,
    SideFiles,
    scratch_beside,
)
from tidemill.time import EARLIEST_US, LATEST_US

# A reason is always there, and Spark stores it as such.
_REASON = pa.field("reason", pa.string(), nullable=False)
_LATE_BY = pa.field(LATE_BY.name, LATE_BY.type.arrow)
_RECORDS = pa.schema([pa.field("record", pa.string()), _REASON])


# All parts of an input whose rows are made, to be made with the columns of a program.
MakeParts = Callable[[Program], tuple[Part, ...] | None]


def set_aside_on_arrays(
    admission: Admission,
    parts: Collection[Part],
    verdicts: Collection[int],
    files: SideFiles,
    make_parts: MakeParts = lambda _: None,
) -> frozenset[int]:
    """Write the rows of these verdicts, LATE and MALFORMED; returns those that were written.

    The rest is Catalyst's: records that are not plain, and files whose further columns, which no
    query reads, are not as declared.
    """
    stream = admission.stream
    plain = {v for v in verdicts if v == LATE or is_plain_record(stream.columns)}
    program = whole_rows(stream)
    whole_parts = _whole_parts(program, parts, make_parts) if plain else None
    if whole_parts is None:
        return frozenset()
    try:
        with ExitStack() as stack:
            writers = {v: stack.enter_context(_writing(stream, files, v)) for v in plain}
            judge = Judge(admission.terms)
            for batch in read_batches(program, whole_parts):
                column = Chunk(batch.rows, program.kinds).column(program.time_column)
                judged = judge.judge(column, batch.stretches)
                if LATE in writers:
                    late = _where(batch.rows, judged.late, stream)
                    late_by = (judged.bounds_us - column.numbers)[judged.late]
                    writers[LATE](late.append_column(_LATE_BY, pa.array(late_by)))
                if MALFORMED in writers:
                    malformed = _where(batch.rows, ~judged.usable, stream)
                    reasons = _reasons(column)[~judged.usable]
                    writers[MALFORMED](_records(malformed, reasons, stream))
    except (*UNREADABLE, UnicodeError):
        return frozenset()
    return frozenset(plain)


def _whole_parts(
    program: Program, parts: Collection[Part], make_parts: MakeParts
) -> tuple[Part, ...] | None:
    """The same parts, to be read with all columns; None if Catalyst has to read them."""
    paths = dict.fromkeys(part.path for part in parts if not isinstance(part, MadeRows))
    whole_parts = parts_of(program, list(paths)) if paths else make_parts(program)
    if whole_parts is None:
        return None
    by_place = {part.place: part for part in parts}
    return tuple(
        _as_judged(part, by_place[part.place]) for part in whole_parts if part.place in by_place
    )


def _as_judged(whole: Part, judged: Part) -> Part:
    """The part with all columns, as far as its rows were judged."""
    if isinstance(whole, RowGroup) and isinstance(judged, RowGroup):
        return replace(whole, within=judged.within)
    return whole


def _records(rows: pa.Table, reasons: Array, stream: Stream) -> pa.Table:
    return pa.table([json_records(rows, stream.columns), reasons.tolist()], schema=_RECORDS)


def _reasons(column: ChunkColumn) -> Array:
    """The reason why each row cannot be counted by its time, if it cannot."""
    times_us = column.numbers
    sane = (times_us >= EARLIEST_US) & (times_us <= LATEST_US)
    reasons = np.where(sane, AHEAD, OUT_OF_RANGE)
    return reasons if column.valid is None else np.where(column.valid, reasons, NO_TIME)


def _where(rows: pa.Table, chosen: BoolArray, stream: Stream) -> pa.Table:
    declared = rows.select([column.name.lower() for column in stream.columns])
    schema = _row_schema(stream)
    return declared.filter(pa.array(chosen)).rename_columns(schema.names).cast(schema)


@contextmanager
def _writing(
    stream: Stream, files: SideFiles, verdict: int
) -> Iterator[Callable[[pa.Table], object]]:
    """Writes rows of a verdict wherever they go."""
    schema = _row_schema(stream).append(_LATE_BY) if verdict == LATE else _RECORDS
    with ExitStack() as stack:
        writers = [
            (stack.enter_context(_whole_file(place, pa.schema(map(schema.field, names)))), names)
            for place, names in files.places(verdict, schema.names).items()
        ]
        yield lambda rows: [writer.write_table(rows.select(names)) for writer, names in writers]


@contextmanager
def _whole_file(place: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """A writer of a file, which is put in place whole or not at all."""
    scratch = scratch_beside(place)
    try:
        # Decimals as Spark stores them.
        with pq.ParquetWriter(scratch, schema, store_decimal_as_integer=True) as writer:
            yield writer
        scratch.replace(place)
    finally:
        scratch.unlink(missing_ok=True)


def _row_schema(stream: Stream) -> pa.Schema:
    return pa.schema([(column.name, column.type.arrow) for column in stream.columns])
