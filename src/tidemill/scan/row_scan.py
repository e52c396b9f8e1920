"""Rows that leave as they are: of each chunk, those that pass a condition, with their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.joins import Join, in_users_words
from tidemill.plan.predicates import WORD_BITS, Predicate
from tidemill.plan.relation import Relation, merge_relations, multiplying
from tidemill.scan.arrays.chunk import Chunk
from tidemill.scan.arrays.signatures import Signed, Signing, sign, signing
from tidemill.scan.contract import PickedRows
from tidemill.state.row_pieces import RowFeed


@dataclass(frozen=True)
class RowPass:
    """Row feeds that meet the same rows, and the tables that test these."""

    feeds: tuple[RowFeed, ...]
    relation: Relation
    predicates: tuple[Predicate, ...]
    signing: Signing

    @property
    def joins(self) -> tuple[Join, ...]:
        return self.relation.joins


def row_passes(feeds: Sequence[RowFeed]) -> tuple[RowPass, ...]:
    """One pass for all feeds whose tables leave the rows as many."""
    by_relation: dict[Relation, list[RowFeed]] = {}
    for feed in feeds:
        by_relation.setdefault(multiplying(feed.query.relation), []).append(feed)
    return tuple(map(_row_pass, by_relation.values()))


@dataclass(frozen=True)
class Picking:
    """The rows of a chunk that a feed takes, if it takes any, and how many values raised."""

    feed: RowFeed
    picked: PickedRows | None
    raised: int


def pick_rows(
    row_pass: RowPass, chunk: Chunk, times_us: IntArray, timely: BoolArray | None = None
) -> Iterator[Picking]:
    """What each feed takes of a chunk, whose tables are beside it.

    `timely` tells rows that are not from those that correct, which leave in no order of time.
    """
    signed = sign(row_pass.signing, chunk)
    for feed in row_pass.feeds:
        rows = np.arange(len(chunk))
        for predicate in feed.predicates:
            rows = _rows_with(signed, row_pass.predicates.index(predicate))
        if feed.query.ordered and timely is not None:
            rows = rows[timely[rows]]
        picked = _picked(feed, chunk, times_us, rows) if len(rows) else None
        yield Picking(feed, picked, _raised(feed, chunk, rows))


def _picked(feed: RowFeed, chunk: Chunk, times_us: IntArray, rows: IntArray) -> PickedRows:
    columns = [
        chunk.values_of(column.scalar, rows).cast(column.scalar.type.arrow)
        for column in feed.query.columns
    ]
    return PickedRows(feed, pa.table(columns, schema=feed.schema), times_us[rows])


def _raised(feed: RowFeed, chunk: Chunk, rows: IntArray) -> int:
    """Values that raised: in conditions of any row, in columns of the rows that are taken."""
    counts = [np.count_nonzero(chunk.computed(scalar).raised) for scalar in feed.tested]
    counts += [np.count_nonzero(chunk.computed(s).raised[rows]) for s in feed.selected]
    return int(sum(counts))


def row_hindrances(feed: RowFeed) -> Iterator[str]:
    """Everything that a row feed asks for and arrays do not do, in words."""
    for column in feed.query.columns:
        if not column.scalar.is_on_arrays:
            text = f"selects {column.scalar.sql}"
            yield in_users_words(text, feed.query.relation.joins)


def _row_pass(feeds: Sequence[RowFeed]) -> RowPass:
    predicates = tuple(dict.fromkeys(p for feed in feeds for p in feed.predicates))
    relation = merge_relations(feed.query.relation for feed in feeds)
    return RowPass(tuple(feeds), relation, predicates, signing(predicates))


def _rows_with(signed: Signed, bit: int) -> IntArray:
    """The rows whose signature has a bit."""
    has_bit = (signed.words[:, bit // WORD_BITS] >> bit % WORD_BITS) & 1
    return np.flatnonzero(has_bit.astype(np.bool_)[signed.ids])
