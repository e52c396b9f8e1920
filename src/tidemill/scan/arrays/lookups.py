"""Lookups of values among those of a table: by a slot for each number, or by hashing.

>>> lookup = NumberLookup(np.array([30, 10, 2**40]))
>>> lookup.places(np.array([10, 11, 2**40])).tolist()
[1, -1, 2]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.arrays import Array, IntArray
from tidemill.compiling import is_worth_loading
from tidemill.scan.arrays.chunk import ChunkColumn, Coded
from tidemill.scan.arrays.loops import fill_slots, find_slots, hash_texts

# A slot for every number of the range, up to so many for each number there is.
_MOST_SLOTS = 16
_FEW = 1 << 16


class NumberLookup:
    """The place of a number among distinct ones."""

    def __init__(self, numbers: IntArray) -> None:
        self._numbers = numbers
        self._low = int(numbers.min()) if len(numbers) else 0
        self._span = int(numbers.max(initial=self._low)) - self._low + 1

    def places(self, values: IntArray) -> IntArray:
        """The place of each value; -1 where it is none of them."""
        if self._span <= _MOST_SLOTS * len(self._numbers) + _FEW:
            return self._by_range(values)
        if is_worth_loading(max(len(values), len(self._numbers))):
            return self._by_hash(values)
        return self._by_order(values)

    def _by_range(self, values: IntArray) -> IntArray:
        # Below the lowest number the difference, without a sign, is greater than all others.
        apart = values.view(np.uint64) - np.int64(self._low).view(np.uint64)
        slots = np.minimum(apart, np.uint64(self._span)).astype(np.int64)
        places: IntArray = self._slots_by_range[slots]
        return places

    def _by_hash(self, values: IntArray) -> IntArray:
        places = np.empty(len(values), np.int64)
        find_slots(values, self._numbers, self._slots_by_hash, places)
        return places

    def _by_order(self, values: IntArray) -> IntArray:
        order = np.argsort(self._numbers)
        above = np.searchsorted(self._numbers, values, sorter=order)
        near = order[np.minimum(above, len(order) - 1)]
        places: IntArray = np.where(self._numbers[near] == values, near, -1)
        return places

    @cached_property
    def _slots_by_range(self) -> IntArray:
        """Of each number of the range, and of one beyond it."""
        slots = np.full(self._span + 1, -1, np.int64)
        slots[self._numbers - self._low] = np.arange(len(self._numbers))
        return slots

    @cached_property
    def _slots_by_hash(self) -> IntArray:
        slots = np.full(1 << (2 * len(self._numbers)).bit_length(), -1, np.int64)
        fill_slots(self._numbers, slots)
        return slots


class TextLookup:
    """The place of a text among distinct ones.

    Arrow hashes the distinct texts anew at each call. Many of them are hashed once, here; if two
    should have one hash, Arrow looks them up all the same.
    """

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts
        self._hashes: NumberLookup | None = None
        if len(texts) > _FEW:
            hashes = _hashes(texts)
            is_unique = len(np.unique(hashes)) == len(hashes)
            self._hashes = NumberLookup(hashes) if is_unique else None

    def places(self, values: pa.Array) -> IntArray:
        """The place of each value; -1 where it is none of them."""
        if self._hashes is None:
            places = pc.index_in(values, value_set=self._texts).fill_null(-1)
            return np.asarray(places.to_numpy()).astype(np.int64)
        places = self._hashes.places(_hashes(values))
        near = self._texts.take(pa.array(np.maximum(places, 0)))
        is_equal = pc.equal(values, near).to_numpy(zero_copy_only=False)
        return np.where(is_equal, places, -1)


class ValueLookup:
    """The place of a value among the distinct ones of a table's column; NULL has none."""

    def __init__(self, column: ChunkColumn) -> None:
        values = _occurring(column.coded)
        self._size = len(values)
        self._lookup = (
            TextLookup(values)
            if pa.types.is_string(values.type)
            else NumberLookup(_as_numbers(values))
        )

    def __len__(self) -> int:
        return self._size

    def places(self, column: ChunkColumn) -> IntArray:
        """The place of each row's value; -1 where there is none."""
        few = column.few
        if few is not None:
            return np.append(self._places(few.values), np.int64(-1))[few.digit.codes]
        places = self._places(column.numbers)
        return places if column.valid is None else np.where(column.valid, places, -1)

    def _places(self, values: pa.Array | Array) -> IntArray:
        if isinstance(self._lookup, TextLookup):
            return self._lookup.places(values)
        return self._lookup.places(_as_numbers(values))


class KeyLookup:
    """The rows of a table by the values of their keys; rows with a NULL among these have none."""

    def __init__(self, columns: Sequence[ChunkColumn]) -> None:
        self._first = ValueLookup(columns[0])
        self._others: list[tuple[ValueLookup, NumberLookup]] = []
        places = self._first.places(columns[0])
        for column in columns[1:]:
            values = ValueLookup(column)
            pairs = _paired(places, values.places(column), values)
            distinct = np.unique(pairs[pairs >= 0])
            self._others.append((values, NumberLookup(distinct)))
            places = self._others[-1][1].places(pairs)
        self._group(places)

    def _group(self, places: IntArray) -> None:
        """The table's rows by place, after them the last row, of NULLs, for whom has no partner."""
        count = int(places.max(initial=-1)) + 1
        order = np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :]
        rows_each = np.bincount(places[order], minlength=count)
        self._rows = np.append(order, len(places) - 1)
        self._counts = np.append(rows_each, 1)
        self._begins = np.append(np.cumsum(rows_each) - rows_each, len(order))

    def places(self, columns: Sequence[ChunkColumn]) -> IntArray:
        """The place of each row's keys; -1 where no row of the table has these."""
        places = self._first.places(columns[0])
        for column, (values, numbers) in zip(columns[1:], self._others, strict=True):
            places = numbers.places(_paired(places, values.places(column), values))
        return places

    def partner(self, places: IntArray) -> IntArray:
        """The row of the table for each place that has just one."""
        rows: IntArray = self._rows[self._begins[places]]
        return rows

    def counts(self, places: IntArray) -> IntArray:
        """The number of rows that a row of each place becomes; without partners, one."""
        counts: IntArray = self._counts[places]
        return counts

    def partners(self, places: IntArray, counts: IntArray) -> IntArray:
        """The rows of the table for each place, one place after the other."""
        ends = np.cumsum(counts)
        first = np.repeat(self._begins[places] - (ends - counts), counts)
        rows: IntArray = self._rows[first + np.arange(len(first))]
        return rows


def _paired(left: IntArray, right: IntArray, values: ValueLookup) -> IntArray:
    """One number for two places; -1 where either is none."""
    pairs: IntArray = np.where((left < 0) | (right < 0), -1, left * len(values) + right)
    return pairs


def _occurring(coded: Coded) -> pa.Array:
    """Codes of a short range may stand for values that are not there."""
    is_there = np.zeros(coded.digit.size, np.bool_)
    is_there[coded.digit.codes] = True
    return coded.values.filter(pa.array(is_there[: len(coded.values)]))


def _hashes(texts: pa.Array) -> IntArray:
    _, ends, letters = texts.buffers()
    hashes = np.empty(len(texts), np.int64)
    ends = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    hash_texts(ends, np.frombuffer(letters or b"", np.uint8), hashes)
    return hashes


def _as_numbers(values: pa.Array | Array) -> IntArray:
    return np.asarray(values).astype(np.int64, copy=False)
