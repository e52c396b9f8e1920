"""Which rows of answers are equal, by value: NULL equals NULL, and floats agree within 1e-9.

Floats are equal if they follow each other so closely among the rows that are equal in all columns
before: that is an equivalence, and depends on nothing but the rows that are compared.

>>> close = pa.array([0.1 + 0.2, 0.3, 0.4, None])
>>> one, other, *rest = equal_rows(RowClasses.single(4), [close]).tolist()
>>> one == other, len({one, *rest})
(True, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.answer.ordering import cut_runs
from tidemill.arrays import Array, BoolArray, IntArray

# The relative difference up to which floats are equal.
RELATIVE_TOLERANCE = 1e-9
# An array by number may be so much longer than the rows: that is sooner than to number them anew.
SPARSE = 4
# Numbers of classes fit into 64 bits.
MOST_NUMBERS = 2**62


@dataclass(frozen=True)
class RowClasses:
    """Rows by the number of their class, which is less than `size`."""

    numbers: IntArray
    size: int

    @staticmethod
    def single(rows: int) -> RowClasses:
        """One class of so many rows."""
        return RowClasses(np.zeros(rows, np.int64), 1)

    @staticmethod
    def of(numbers: IntArray) -> RowClasses:
        low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
        return RowClasses(numbers - low, high - low + 1)

    def at(self, rows: IntArray) -> RowClasses:
        """The classes of some of the rows."""
        return RowClasses(self.numbers[rows], self.size)

    def numbered(self) -> RowClasses:
        """With small numbers in place of any."""
        if self.size <= SPARSE * len(self.numbers):
            return self
        numbers = numbered(self.numbers)
        return RowClasses(numbers, int(numbers.max(initial=-1)) + 1)

    def cut(self, other: RowClasses) -> RowClasses:
        """Rows are in one class if they are in one class of both."""
        if other.size == 1:
            return self
        if self.size * other.size > MOST_NUMBERS:
            return self.numbered().cut(other.numbered())
        numbers = self.numbers * other.size + other.numbers
        return RowClasses(numbers, self.size * other.size)


def equal_rows(classes: RowClasses, columns: Sequence[pa.Array]) -> IntArray:
    """A number for each row, at most a few times as large as rows are many: rows of one class have
    one if they are equal."""
    # What is exact leaves fewer rows among which floats are compared.
    columns = sorted(columns, key=lambda column: is_inexact(column.type))
    return equal_classes(classes, columns).numbered().numbers


def equal_classes(classes: RowClasses, columns: Sequence[pa.Array]) -> RowClasses:
    """Rows stay in one class if they are equal in the columns too."""
    return reduce(_narrowed, columns, classes)


def is_inexact(kind: pa.DataType) -> bool:
    """True if values are equal that are near each other."""
    return bool(pa.types.is_floating(kind) or pa.types.is_nested(kind))


def distinct_rows(answers: pa.Table, limit: int | None) -> IntArray:
    """Of rows of answers that are equal, bounds and all, the first; with a limit of each window so
    many, whose rows follow one another then."""
    columns = [column.combine_chunks() for column in answers.columns]
    equal = equal_rows(RowClasses.single(len(answers)), columns)
    rows = np.flatnonzero(places_among(equal) == 0)
    if limit is None:
        return rows
    bounds = [np.asarray(column.view(pa.int64())) for column in columns[:2]]
    return cut_runs(rows, bounds, np.full(len(answers), limit))


def places_among(numbers: IntArray) -> IntArray:
    """For each row how many before it have its number.

    >>> places_among(np.array([7, 3, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(numbers, kind="stable")
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = numbers[order][1:] != numbers[order][:-1]
    position = np.arange(len(order))
    places = np.empty(len(order), np.int64)
    places[order] = position - np.maximum.accumulate(np.where(is_first, position, 0))
    return places


def numbered(values: IntArray) -> IntArray:
    """Small numbers in place of any, from 0 on."""
    return np.asarray(pc.dictionary_encode(pa.array(values)).indices).astype(np.int64)


def _narrowed(classes: RowClasses, column: pa.Array) -> RowClasses:
    """Rows stay in one class if they are equal in the column too."""
    if pa.types.is_floating(column.type):
        return _by_float(classes.cut(_nulls(column)), column)
    if pa.types.is_struct(column.type):
        return reduce(_narrowed, column.flatten(), classes.cut(_nulls(column)))
    if pa.types.is_list(column.type):
        return _by_list(classes, column)
    return classes.cut(_codes(column))


def _nulls(column: pa.Array) -> RowClasses:
    if not column.null_count:
        return RowClasses.single(len(column))
    return RowClasses(np.asarray(column.is_null()).astype(np.int64), 2)


def _codes(column: pa.Array) -> RowClasses:
    """The classes of equal values."""
    if pa.types.is_integer(column.type):
        bounds = pc.min_max(column).as_py()
        low, high = bounds["min"] or 0, bounds["max"] or 0
        # A range of 64 bits has no number.
        if high - low < MOST_NUMBERS:
            values = np.asarray(column.fill_null(low)).astype(np.int64) - low
            return RowClasses(values, high - low + 1).cut(_nulls(column))
    codes = pc.dictionary_encode(column, null_encoding="encode").indices
    return RowClasses.of(np.asarray(codes).astype(np.int64))


def _by_float(classes: RowClasses, column: pa.Array) -> RowClasses:
    """By values that follow each other closely."""
    numbers, size = (classes := classes.numbered()).numbers, classes.size
    values = np.asarray(column.fill_null(0).cast(pa.float64()))
    counts, rows = np.bincount(numbers, minlength=size), np.arange(len(numbers))
    first, last = np.zeros(size, np.int64), np.zeros(size, np.int64)
    first[numbers[::-1]], last[numbers] = rows[::-1], rows
    is_apart = (counts == 2) & ~_close(values[first], values[last])
    narrowed = numbers.copy()
    narrowed[last[is_apart]] += size
    many = np.flatnonzero(counts[numbers] > 2)
    if len(many):
        narrowed[many] = _in_order(numbers[many], values[many]) + 2 * size
    return RowClasses(narrowed, 2 * size + len(many))


def _in_order(numbers: IntArray, values: Array) -> IntArray:
    order = np.lexsort((values, numbers))
    ordered, of = values[order], numbers[order]
    is_next = np.zeros(len(order), np.bool_)
    is_next[1:] = (of[1:] != of[:-1]) | ~_close(ordered[1:], ordered[:-1])
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(is_next)
    return places


def _close(left: Array, right: Array) -> BoolArray:
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.maximum(np.abs(left), np.abs(right))
        is_near = np.isfinite(largest) & (np.abs(left - right) <= RELATIVE_TOLERANCE * largest)
    is_close: BoolArray = is_near | (left == right) | (np.isnan(left) & np.isnan(right))
    return is_close


def _by_list(classes: RowClasses, column: pa.Array) -> RowClasses:
    """Element by element, among the rows that have so many."""
    lengths = np.asarray(pc.list_value_length(column).fill_null(-1)).astype(np.int64)
    classes = classes.cut(RowClasses.of(lengths)).numbered()
    offsets, inner = np.asarray(column.offsets).astype(np.int64), column.values
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        elements = inner.take(pa.array(offsets[rows] + place))
        # Rows of one class are as long as each other, so all of them are among these.
        among = _narrowed(classes.at(rows), elements).numbered()
        numbers = classes.numbers.copy()
        numbers[rows] = among.numbers + classes.size
        classes = RowClasses(numbers, classes.size + among.size).numbered()
    return classes
