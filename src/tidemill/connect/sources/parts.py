"""The input of a tick in parts that arrays scan: of files, or of rows that are made; and what the
footers of files tell of lateness before any row is read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tidemill.catalog import Stream
from tidemill.connect.sources.contract import AnySource, ArrowBlocks, Input, InputRows
from tidemill.scan.arrays.files import (
    MadeRows,
    Part,
    RowGroup,
    newest_by_path,
    parts_of,
    row_groups,
)
from tidemill.scan.arrays.program import Program
from tidemill.scan.contract import Terms
from tidemill.types import TIMESTAMP


def array_parts(program: Program, source: AnySource, portion: Input) -> tuple[Part, ...] | None:
    """All parts of an input in order; None if some of it is Spark's to read."""
    reading = source.read(portion, [name for name, _ in program.stored_columns])
    if isinstance(reading, ArrowBlocks):
        most_rows = source.most_rows(portion) or 0
        rows_each = -(-most_rows // max(1, len(reading.numbers)))
        return tuple(
            MadeRows(number, partial(reading.make, number), rows_each) for number in reading.numbers
        )
    return None if reading.where else parts_of(program, reading.paths)


def settle_by_parts(terms: Terms, parts: Sequence[Part]) -> Terms:
    """With the bounds of all arrivals, where the footers of their files tell them."""
    groups = [part for part in parts if isinstance(part, RowGroup)]
    newest_us = newest_by_path(groups, terms.latest_us) if len(groups) == len(parts) else None
    if newest_us is None:
        return terms
    return terms.settled(list(dict.fromkeys(group.arrival for group in groups)), newest_us)


def settle_by_footers(terms: Terms, stream: Stream, reading: InputRows) -> Terms:
    """The same for rows that have not been looked at; one arrival has its bound already."""
    is_open = len(reading.arrivals) > 1 and not terms.bounds
    if not is_open or isinstance(reading, ArrowBlocks) or reading.format != "parquet":
        return terms
    time_column = stream.time_column.lower()
    groups = row_groups(reading.paths, [(time_column, TIMESTAMP)], time_column)
    newest_us = newest_by_path(groups, terms.latest_us) if groups else None
    return terms if newest_us is None else terms.settled(reading.arrivals, newest_us)
