"""Which rows of answers are equal, by value: NULL equals NULL, and floats agree within 1e-9.

Floats are equal if they follow each other so closely among the rows that are equal in all columns
before: that is an equivalence, and depends on nothing but the rows that are compared.

>>> close = pa.array([0.1 + 0.2, 0.3, 0.4, None])
>>> equal_rows(np.zeros(4, np.int64), [close]).tolist()
[0, 0, 1, 2]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.answer.ordering import cut_runs
from tidemill.arrays import Array, BoolArray, IntArray

# The relative difference up to which floats are equal.
TOLERANCE = 1e-9


def equal_rows(within: IntArray, columns: Sequence[pa.Array]) -> IntArray:
    """A number for each row: rows of one class of `within` have one if they are equal."""
    numbers = numbered(within)
    # What is exact leaves fewer rows among which floats are compared.
    for column in sorted(columns, key=lambda column: _is_inexact(column.type)):
        numbers = _narrowed(numbers, column)
    return numbered(numbers)


def distinct_rows(answers: pa.Table, limit: int | None) -> IntArray:
    """Of rows of answers that are equal, bounds and all, the first; with a limit of each window so
    many, whose rows follow one another then."""
    columns = [column.combine_chunks() for column in answers.columns]
    equal = equal_rows(np.zeros(len(answers), np.int64), columns)
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


def _is_inexact(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_nested(kind))


def numbered(values: IntArray) -> IntArray:
    """Small numbers in place of any, from 0 on."""
    return np.asarray(pc.dictionary_encode(pa.array(values)).indices).astype(np.int64)


def _narrowed(numbers: IntArray, column: pa.Array) -> IntArray:
    """Rows keep one number if they are equal in the column too."""
    if pa.types.is_floating(column.type):
        return _by_float(numbers, column)
    if pa.types.is_struct(column.type):
        numbers = _by_code(numbers, np.asarray(column.is_null()).astype(np.int64))
        for inner in column.flatten():
            numbers = _narrowed(numbers, inner)
        return numbers
    if pa.types.is_list(column.type):
        return _by_list(numbers, column)
    codes = pc.dictionary_encode(column, null_encoding="encode").indices
    return _by_code(numbers, np.asarray(codes).astype(np.int64))


def _by_code(numbers: IntArray, codes: IntArray) -> IntArray:
    if not codes.any():
        return numbers
    return numbered(numbers * (int(codes.max()) + 1) + codes)


def _by_float(numbers: IntArray, column: pa.Array) -> IntArray:
    numbers = _by_code(numbers, np.asarray(column.is_null()).astype(np.int64))
    values = np.asarray(column.fill_null(0).cast(pa.float64()))
    order = np.lexsort((values, numbers))
    ordered, of = values[order], numbers[order]
    is_next = np.zeros(len(order), np.bool_)
    is_next[1:] = (of[1:] != of[:-1]) | ~_close(ordered[1:], ordered[:-1])
    narrowed = np.empty(len(order), np.int64)
    narrowed[order] = np.cumsum(is_next)
    return narrowed


def _close(left: Array, right: Array) -> BoolArray:
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.maximum(np.abs(left), np.abs(right))
        is_near = np.isfinite(largest) & (np.abs(left - right) <= TOLERANCE * largest)
    is_close: BoolArray = is_near | (left == right) | (np.isnan(left) & np.isnan(right))
    return is_close


def _by_list(numbers: IntArray, column: pa.Array) -> IntArray:
    """Element by element, among the rows that have so many."""
    lengths = np.asarray(pc.list_value_length(column).fill_null(-1)).astype(np.int64)
    numbers = _by_code(numbers, lengths + 1)
    offsets, inner = np.asarray(column.offsets).astype(np.int64), column.values
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        elements = inner.take(pa.array(offsets[rows] + place))
        # Rows of one number are as long as each other, so all of them are among these.
        numbers[rows] = _narrowed(numbers[rows], elements) + len(numbers)
        numbers = numbered(numbers)
    return numbers
