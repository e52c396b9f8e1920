"""The input of a tick in parts that arrays scan: of files, or of rows that are made; and what the
footers of files tell of lateness before any row is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tidemill.catalog import Stream
from tidemill.connect.sources.contract import (
    AnySource,
    ArrowBlocks,
    Extent,
    Files,
    Input,
    InputRows,
)
from tidemill.scan.arrays.files import (
    MadeRows,
    Part,
    RowGroup,
    newest_by_path,
    parts_of,
    row_groups,
)
from tidemill.scan.arrays.program import Program
from tidemill.scan.contract import Terms, TimeRange
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
    parts = parts_of(program, reading.paths)
    if parts is None or reading.within is None:
        return parts
    return tuple(_within(parts, reading.within)) if reading.format == "parquet" else None


def _within(parts: Sequence[Part], times: TimeRange) -> Iterator[RowGroup]:
    """Those parts that may have rows of a range, to be read as far as they are in it."""
    for part in parts:
        if isinstance(part, RowGroup) and part.meets(times):
            yield replace(part, within=times)


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


def measure_by_footers(files: Files, time_column: str) -> Mapping[str, Extent] | None:
    """The extent of each file that has rows; None if some footer does not tell all of it."""
    name = time_column.lower()
    groups = (
        row_groups(files.paths, [(name, TIMESTAMP)], name) if files.format == "parquet" else None
    )
    if groups is None:
        return None
    extents: dict[str, Extent] = {}
    for group in groups:
        if group.untimed is None or (group.times is None and group.untimed < group.rows):
            return None
        oldest_us, newest_us = group.times or (None, None)
        extent = Extent(group.rows, group.untimed, oldest_us, newest_us)
        extents[group.path] = extent.joined(extents.get(group.path))
    return extents
