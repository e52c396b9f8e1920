"""Rows joined with tables: a row stands in as many places as it has partners, or in one.

Nothing is copied to begin with. A place names the row of the stream and the row of each table
that meet in it, and a column is looked at through these numbers when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidemill.aggregates.numbering import Digit, distinct_codes
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.plan.joins import Join
from tidemill.scan.arrays.chunk import Chunk, ChunkColumn, Coded
from tidemill.scan.arrays.tables import ScannedTable, own_name, scanned_table

# Rows are joined in runs that become up to so many, unless a single one becomes more.
MOST_JOINED_ROWS = 1 << 19


class RepeatedColumn(ChunkColumn):
    """A column of other rows, of which each place names one."""

    def __init__(self, column: ChunkColumn, rows: IntArray) -> None:
        self._column, self._rows = column, rows

    @cached_property
    def valid(self) -> BoolArray | None:
        if self._column.valid is None:
            return None
        valid: BoolArray = self._column.valid[self._rows]
        return None if valid.all() else valid

    @cached_property
    def numbers(self) -> Array:
        return self._column.numbers[self._rows]

    @cached_property
    def coded(self) -> Coded:
        return self._repeated(self._column.coded)

    @cached_property
    def distinct(self) -> Coded:
        return self._repeated(self._column.distinct)

    @cached_property
    def few(self) -> Coded | None:
        return None if self._column.few is None else self._repeated(self._column.few)

    def _repeated(self, coded: Coded) -> Coded:
        """Of a large table few values may occur, and they make short tables for what follows."""
        codes = coded.digit.codes[self._rows]
        if len(coded.values) <= len(codes):
            return Coded(Digit(codes, coded.digit.size), coded.values)
        if self.valid is not None:
            codes = np.where(self.valid, codes, 0)
        ranked, occurring = distinct_codes(Digit(codes, len(coded.values)))
        return self._with_null(ranked.codes, coded.values.take(pa.array(occurring)))


@dataclass(frozen=True)
class _Partners:
    """A table that is joined to a chunk, and the row of it that stands in each place."""

    join: Join
    table: ScannedTable
    rows: IntArray

    def at(self, places: IntArray) -> _Partners:
        return _Partners(self.join, self.table, self.rows[places])

    def column(self, name: str) -> tuple[Chunk, str] | None:
        """The chunk with such a column of the join, and its name there; None if there is none."""
        if name == self.join.partner.name.lower():
            return self.table.partner()
        for column in self.join.columns:
            if name == column.name.lower():
                return self.table.column(own_name(self.join, column.name), column.type)
        return None


class JoinedChunk(Chunk):
    """The rows of a chunk with the columns of tables beside their own.

    `rows` has the row of the chunk in each place; None if every row has just its own.
    """

    def __init__(
        self, chunk: Chunk, rows: IntArray | None = None, tables: tuple[_Partners, ...] = ()
    ) -> None:
        self._chunk, self.rows, self._tables = chunk, rows, tables
        self._columns, self._computed = {}, {}

    def __len__(self) -> int:
        return len(self._chunk) if self.rows is None else len(self.rows)

    def column(self, name: str) -> ChunkColumn:
        name = name.lower()
        if name not in self._columns:
            chunk, inner, rows = self._origin(name)
            column = chunk.column(inner)
            self._columns[name] = column if rows is None else RepeatedColumn(column, rows)
        return self._columns[name]

    def values(self, name: str, rows: Array) -> pa.Array:
        chunk, inner, origin_rows = self._origin(name.lower())
        return chunk.values(inner, rows if origin_rows is None else origin_rows[rows])

    def _origin(self, name: str) -> tuple[Chunk, str, IntArray | None]:
        """The chunk with the column, its name there, and the row of it in each place."""
        for partners in self._tables:
            if (column := partners.column(name)) is not None:
                return (*column, partners.rows)
        return self._chunk, name, self.rows

    def joined(self, join: Join, table: ScannedTable) -> Iterator[JoinedChunk]:
        """With one more table, in runs of places that are not too many."""
        lookup = table.lookup(join)
        keys = lookup.places([self.column(before.names[0]) for before in join.befores])
        counts = lookup.counts(keys)
        if counts.sum() == len(keys):
            partners = _Partners(join, table, lookup.partner(keys))
            yield JoinedChunk(self._chunk, self.rows, (*self._tables, partners))
            return
        for run in _runs(counts):
            chunk = self._at(np.repeat(np.arange(run.start, run.stop), counts[run]))
            partners = _Partners(join, table, lookup.partners(keys[run], counts[run]))
            yield JoinedChunk(self._chunk, chunk.rows, (*chunk._tables, partners))

    def _at(self, places: IntArray) -> JoinedChunk:
        rows = places if self.rows is None else self.rows[places]
        return JoinedChunk(self._chunk, rows, tuple(each.at(places) for each in self._tables))


def joined_chunks(chunk: Chunk, joins: Sequence[Join], folder: Path) -> Iterator[JoinedChunk]:
    """All rows of the chunk, joined with tables whose files are in the folder."""
    return _joined_all(JoinedChunk(chunk), joins, folder)


def _joined_all(chunk: JoinedChunk, joins: Sequence[Join], folder: Path) -> Iterator[JoinedChunk]:
    if not joins:
        yield chunk
        return
    for part in chunk.joined(joins[0], scanned_table(folder / joins[0].file)):
        yield from _joined_all(part, joins[1:], folder)


def _runs(counts: IntArray) -> Iterator[slice]:
    """Rows one after the other whose places are not too many together."""
    ends = np.cumsum(counts)
    start, places = 0, 0
    while start < len(counts):
        stop = max(start + 1, int(np.searchsorted(ends, places + MOST_JOINED_ROWS, side="right")))
        yield slice(start, stop)
        start, places = stop, int(ends[stop - 1])
