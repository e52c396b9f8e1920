"""ISTREAM and DSTREAM: the rows that an answer has and the one before had not, or the reverse.

Rows are compared as they are delivered, of each query those of one window with those of the window
one slide before, as multisets. What a window is compared with is answered along with it, from the
same slices or, where the query has moved, from those of its synopsis before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.answer.equality import (
    RowClasses,
    equal_classes,
    equal_rows,
    is_inexact,
    numbered,
    places_among,
)
from tidemill.answer.request import WindowRequest
from tidemill.answer.rows import MergedAnswers, bound_columns
from tidemill.arrays import IntArray
from tidemill.language.statements import Delta
from tidemill.plan.query import QueryPlan

_BOUNDS = 2
# Rows that are compared at a time: a table of them by value stays near the processor.
ROWS_AT_A_TIME = 2**16


@dataclass(frozen=True)
class AnsweredWindows:
    """A request with the rows of all buckets, and how many of each query's have raised."""

    request: WindowRequest
    merged: MergedAnswers
    raised: IntArray

    @property
    def owner(self) -> IntArray:
        """By row, the number of its query in the batch."""
        return np.repeat(np.arange(len(self.merged.counts)), self.merged.counts)


@dataclass(frozen=True)
class Changes:
    """Rows in which answers differ from those before them, query after query."""

    rows: pa.Table  # window bounds and outputs
    counts: IntArray  # by query
    raised: IntArray  # by query, in its answers as a whole


def changes(queries: Sequence[QueryPlan], answers: Sequence[AnsweredWindows]) -> Changes:
    """The changes at all windows that are not compared alone, ascending by window, and within one
    as its rows came. The queries are told to deliver the same."""
    numbers = {query.name: number for number, query in enumerate(queries)}
    slides_us = np.array([query.window.slide_us for query in queries])
    owners, windows = list[IntArray](), [np.zeros((0, 3), np.int64)]
    raised = np.zeros(len(queries), np.int64)
    for answered in answers:
        request = answered.request
        number = np.array([numbers[name] for name in request.batch.queries])
        owners.append(number[answered.owner])
        if not request.batch.compared:
            bounds = number[request.owner], request.starts, request.ends
            windows.append(np.stack(bounds, axis=1))
            np.add.at(raised, number, answered.raised)
    rows = pa.concat_tables([answered.merged.rows for answered in answers])
    delta = queries[0].delta
    changed, owner = _changed(
        delta, rows, np.concatenate(owners), np.concatenate(windows), slides_us
    )
    return Changes(changed, np.bincount(owner, minlength=len(queries)), raised)


def _changed(
    delta: Delta, rows: pa.Table, owner: IntArray, windows: IntArray, slides_us: IntArray
) -> tuple[pa.Table, IntArray]:
    """The changes and their owners; of windows the owners, starts and ends."""
    windows = windows[np.lexsort(windows.T[::-1])]
    ends = np.asarray(rows.column(1).combine_chunks().view(pa.int64()))
    first = _first_of_runs(owner, ends)
    runs = first, np.diff(first, append=len(ends))
    owners, ends = owner[first], ends[first]
    here = _RowsOf.of(*runs, _places(windows, owners, ends), len(windows))
    there = _RowsOf.of(*runs, _places(windows, owners, ends + slides_us[owners]), len(windows))
    pair = (here, there) if delta is Delta.NEW else (there, here)
    row, window = _all_surplus(rows, len(windows), *pair)
    bounds = bound_columns(*windows[window].T)
    outputs = rows.select(range(_BOUNDS, rows.num_columns)).take(pa.array(row))
    columns = [*bounds.columns[1:], *outputs.columns]
    return pa.table(columns, schema=rows.schema), windows[window, 0]


def _first_of_runs(*columns: IntArray) -> IntArray:
    """Where one of the columns has another value than before: rows of a window follow each other,
    but for those of other buckets."""
    is_first = np.ones(len(columns[0]), np.bool_)
    is_first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.flatnonzero(is_first)


def _places(windows: IntArray, owner: IntArray, ends: IntArray) -> IntArray:
    """The places of other owners' and ends' windows among the windows; -1: it is not there."""
    if not len(windows):
        return np.full(len(ends), -1)
    codes = numbered(np.concatenate([windows[:, 2], ends]))
    owners = np.concatenate([windows[:, 0], owner])
    keys = owners * (int(codes.max()) + 1) + codes
    of_windows, of_others = keys[: len(windows)], keys[len(windows) :]
    order = np.argsort(of_windows)
    place = np.minimum(np.searchsorted(of_windows[order], of_others), len(windows) - 1)
    return np.where(of_windows[order][place] == of_others, order[place], -1)


@dataclass(frozen=True)
class _RowsOf:
    """Rows by the window that has them, and where the rows of each window end, after a 0."""

    rows: IntArray
    windows: IntArray
    ends: IntArray

    @staticmethod
    def of(first: IntArray, lengths: IntArray, places: IntArray, windows: int) -> _RowsOf:
        """Of runs of rows, with the place of the window of each."""
        runs = np.flatnonzero(places >= 0)
        runs = runs[np.argsort(places[runs], kind="stable")]
        lengths, places = lengths[runs], places[runs]
        until = np.cumsum(lengths)
        rows = np.repeat(first[runs] - (until - lengths), lengths)
        counts = np.bincount(places, weights=lengths, minlength=windows).astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(counts)])
        return _RowsOf(rows + np.arange(len(rows)), np.repeat(places, lengths), ends)

    def between(self, low: int, high: int) -> tuple[IntArray, IntArray]:
        """The rows of these windows, and whose they are."""
        span = slice(self.ends[low], self.ends[high])
        return self.rows[span], self.windows[span]


def _all_surplus(
    rows: pa.Table, windows: int, has: _RowsOf, lacks: _RowsOf
) -> tuple[IntArray, IntArray]:
    """The rows that windows have beyond as many equal ones as they have in the other answer, and
    those windows, in their order."""
    columns = [column.combine_chunks() for column in rows.columns[_BOUNDS:]]
    # What is exact is the same whatever it is compared with.
    exact = [column for column in columns if not is_inexact(column.type)]
    classes = equal_classes(RowClasses.single(len(rows)), exact)
    rest = [column for column in columns if is_inexact(column.type)]
    parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    low = 0
    while low < windows:
        # As many windows as have few enough rows, and one at least.
        ends = has.ends[low + 1 :] + lacks.ends[low + 1 :]
        most = has.ends[low] + lacks.ends[low] + ROWS_AT_A_TIME
        high = low + max(1, int(np.searchsorted(ends, most, side="right")))
        sides = has.between(low, high), lacks.between(low, high)
        parts.append(_surplus(classes, rest, *sides))
        low = high
    row, window = (np.concatenate(column) for column in zip(*parts, strict=True))
    return row, window


def _surplus(
    classes: RowClasses,
    columns: Sequence[pa.Array],
    having: tuple[IntArray, IntArray],
    lacking: tuple[IntArray, IntArray],
) -> tuple[IntArray, IntArray]:
    """Of some windows alone; rows of other classes differ, and others may in the columns."""
    (row, window), (others, other_windows) = having, lacking
    rows = np.concatenate([row, others])
    of_windows = RowClasses.of(np.concatenate([window, other_windows]))
    outputs = [column.take(pa.array(rows)) for column in columns]
    equal = equal_rows(classes.at(rows).cut(of_windows), outputs)
    here, there = equal[: len(row)], equal[len(row) :]
    size = int(equal.max(initial=-1)) + 1
    lacks = np.bincount(there, minlength=size)
    # Mostly no row is there twice, and none has to be counted.
    is_single = not len(here) or np.bincount(here, minlength=size).max() <= 1
    places = np.zeros(len(here), np.int64) if is_single else places_among(here)
    is_beyond = places >= lacks[here]
    return row[is_beyond], window[is_beyond]
