"""Rows in the store: those that leave with their tick, and those that wait for the watermark.

A row feed is a row query and the name under which the store has its rows. A piece of rows is
named once, like all pieces, and exists when a decision names it. Rows that leave at once are
Parquet files, since sinks may take them as they are. Rows that wait are sorted by time, with the
time in a column beside those of the query; of a piece some of which have left, the store's entry
says which are left. Rows that wait for those of other streams lie under a key.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.arrays import IntArray
from tidemill.plan.expressions import Scalar
from tidemill.plan.predicates import Predicate
from tidemill.plan.row_query import RowQuery
from tidemill.state.feed import Scan
from tidemill.state.keyed_pieces import write_keyed_piece
from tidemill.state.pieces import Piece, write_arrow_file

ROW_TIME = "_time"


@dataclass(frozen=True)
class RowFeed:
    """A row query; `id` is the name of its rows in the store."""

    id: str
    query: RowQuery

    @cached_property
    def scan(self) -> Scan:
        """All that is worked out for a row."""
        query = self.query
        scalars = dict.fromkeys(column.scalar for column in query.columns)
        return Scan(query.relation, tuple(scalars), self.predicates, lanes=())

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """The condition to test, if there is one."""
        condition = self.query.predicate
        return () if condition.is_true else (condition,)

    @cached_property
    def tested(self) -> tuple[Scalar, ...]:
        """What may raise in any row, before it is known whether the query takes it."""
        befores = (before for join in self.query.relation.joins for before in join.befores)
        residuals = (scalar for predicate in self.predicates for scalar in predicate.residuals)
        return tuple(s for s in dict.fromkeys((*befores, *residuals)) if s.may_raise)

    @cached_property
    def selected(self) -> tuple[Scalar, ...]:
        """What may raise in the rows alone that the query takes."""
        columns = dict.fromkeys(column.scalar for column in self.query.columns)
        return tuple(s for s in columns if s.may_raise and s not in self.tested)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the rows as they leave."""
        return row_schema(self.query)


def row_schema(query: RowQuery) -> pa.Schema:
    """The columns of the rows of a query, or of a part of one."""
    if query.join is not None:
        bounds = [(slot.name, slot.type.arrow) for slot in query.join.bounds]
        return pa.schema([*bounds, *((o.name, o.node.type.arrow) for o in query.join.outputs)])
    return pa.schema([(column.name, column.scalar.type.arrow) for column in query.columns])


def write_row_piece(root: Path, feed: RowFeed, rows: pa.Table, times_us: IntArray) -> Piece | None:
    """A piece with the rows, in the order they came; None if there are none."""
    if not len(rows):
        return None
    folder = root / feed.id
    if feed.query.key:
        return write_keyed_piece(folder, feed.query.key, rows, times_us)
    folder.mkdir(parents=True, exist_ok=True)
    name = uuid.uuid4().hex
    if feed.query.ordered:
        order = np.argsort(times_us, kind="stable")
        rows, times_us = rows.take(pa.array(order)), times_us[order]
        path = folder / f"{name}.arrow"
        write_arrow_file(path, rows.append_column(ROW_TIME, pa.array(times_us)).combine_chunks())
    else:
        path = folder / f"{name}.parquet"
        _write_parquet(path, rows)
    ends = dict.fromkeys((int(times_us.min()), int(times_us.max())))
    return Piece(path.name, len(rows), path.stat().st_size, tuple(ends), ((0, 0, len(rows)),))


def read_leaving(root: Path, feed: RowFeed, pieces: Sequence[Piece]) -> pa.Table:
    """The rows of pieces that leave at once."""
    paths = [root / feed.id / piece.name for piece in pieces]
    tables = [pq.ParquetFile(path).read() for path in paths]
    return pa.concat_tables([feed.schema.empty_table(), *tables])


@dataclass(frozen=True)
class HeldRows:
    """Rows of a feed that wait, and the pieces that have them, in the order in which they came."""

    root: Path
    feed: RowFeed
    pieces: tuple[Piece, ...]

    def before(self, until_us: int) -> list[pa.Table]:
        """The rows from before that time, piece by piece."""
        return [self._rows(piece).slice(0, self._count(piece, until_us)) for piece in self.pieces]

    def after(self, until_us: int) -> tuple[Piece, ...]:
        """The pieces without those rows."""
        rest = (_without_first(piece, self._times(piece), until_us) for piece in self.pieces)
        return tuple(piece for piece in rest if piece is not None)

    def as_one(self) -> tuple[Piece, ...]:
        """One new piece in place of many."""
        rows = _in_order(self.feed, [self._rows(piece) for piece in self.pieces])
        times_us = rows.column(ROW_TIME).to_numpy()
        piece = write_row_piece(self.root, self.feed, rows.drop_columns(ROW_TIME), times_us)
        return (piece,) if piece else ()

    def _rows(self, piece: Piece) -> pa.Table:
        with pa.memory_map(str(self.root / self.feed.id / piece.name)) as source:
            rows = pa.ipc.open_file(source).read_all()
        return rows.slice(*(piece.span(0) or (0, 0)))

    def _times(self, piece: Piece) -> IntArray:
        times_us: IntArray = self._rows(piece).column(ROW_TIME).to_numpy()
        return times_us

    def _count(self, piece: Piece, until_us: int) -> int:
        return int(np.searchsorted(self._times(piece), until_us))


def leaving_before(several: Sequence[HeldRows], until_us: int) -> pa.Table:
    """The rows of feeds from before that time, by time, then by feed, then as they came."""
    tables = [table for held in several for table in held.before(until_us)]
    return _in_order(several[0].feed, tables).drop_columns(ROW_TIME)


def _in_order(feed: RowFeed, tables: Sequence[pa.Table]) -> pa.Table:
    schema = feed.schema.append(pa.field(ROW_TIME, pa.int64()))
    rows = pa.concat_tables([schema.empty_table(), *tables])
    order = np.argsort(rows.column(ROW_TIME).to_numpy(), kind="stable")
    return rows.take(pa.array(order))


def _without_first(piece: Piece, times_us: IntArray, until_us: int) -> Piece | None:
    """The part of a piece from a time on; None if there is nothing of it."""
    passed = int(np.searchsorted(times_us, until_us))
    left = len(times_us) - passed
    if not left:
        return None
    first = (piece.span(0) or (0, 0))[0]
    ends = dict.fromkeys((int(times_us[passed]), int(times_us[-1])))
    return replace(piece, rows=left, slices=tuple(ends), spans=((0, first + passed, left),))


def _write_parquet(path: Path, rows: pa.Table) -> None:
    with path.open("wb") as file:
        pq.write_table(rows, file)
        file.flush()
        os.fsync(file.fileno())
