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

from tidemill.answer.equality import equal_rows, numbered, places_among
from tidemill.answer.request import WindowRequest
from tidemill.answer.rows import MergedAnswers, bound_columns
from tidemill.arrays import IntArray
from tidemill.language.statements import Delta
from tidemill.plan.query import QueryPlan

_BOUNDS = 2


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
    for each in answers:
        request = each.request
        number = np.array([numbers[name] for name in request.batch.queries])
        owners.append(number[each.owner])
        if not request.batch.compared:
            bounds = number[request.owner], request.starts, request.ends
            windows.append(np.stack(bounds, axis=1))
            np.add.at(raised, number, each.raised)
    rows = pa.concat_tables([each.merged.rows for each in answers])
    delta = queries[0].delta
    told, owner = _changed(delta, rows, np.concatenate(owners), np.concatenate(windows), slides_us)
    return Changes(told, np.bincount(owner, minlength=len(queries)), raised)


def _changed(
    delta: Delta, rows: pa.Table, owner: IntArray, windows: IntArray, slides_us: IntArray
) -> tuple[pa.Table, IntArray]:
    """The changes and their owners; of windows the owners, starts and ends."""
    windows = windows[np.lexsort(windows.T[::-1])]
    ends = np.asarray(rows.column(1).combine_chunks().view(pa.int64()))
    here = _places(windows, owner, ends)
    there = _places(windows, owner, ends + slides_us[owner])
    pair = (here, there) if delta is Delta.NEW else (there, here)
    row, window = _surplus(rows, *pair)
    order = np.lexsort((row, window))
    row, window = row[order], window[order]
    bounds = bound_columns(*windows[window].T)
    outputs = rows.select(range(_BOUNDS, rows.num_columns)).take(pa.array(row))
    columns = [*bounds.columns[1:], *outputs.columns]
    return pa.table(columns, schema=rows.schema), windows[window, 0]


def _places(windows: IntArray, owner: IntArray, ends: IntArray) -> IntArray:
    """The place of each row's window among the windows; -1: it is not there."""
    if not len(windows):
        return np.full(len(ends), -1)
    codes = numbered(np.concatenate([windows[:, 2], ends]))
    owners = np.concatenate([windows[:, 0], owner])
    keys = owners * (int(codes.max()) + 1) + codes
    of_windows, of_rows = keys[: len(windows)], keys[len(windows) :]
    order = np.argsort(of_windows)
    place = np.minimum(np.searchsorted(of_windows[order], of_rows), len(windows) - 1)
    return np.where(of_windows[order][place] == of_rows, order[place], -1)


def _surplus(rows: pa.Table, having: IntArray, lacking: IntArray) -> tuple[IntArray, IntArray]:
    """The rows that windows have beyond as many equal ones as they have in the other answer, and
    those windows."""
    has, lacks = np.flatnonzero(having >= 0), np.flatnonzero(lacking >= 0)
    row = np.concatenate([has, lacks])
    window = np.concatenate([having[has], lacking[lacks]])
    outputs = rows.select(range(_BOUNDS, rows.num_columns)).take(pa.array(row))
    equal = equal_rows(window, [column.combine_chunks() for column in outputs.columns])
    having_it = equal[: len(has)]
    counts = np.bincount(equal[len(has) :], minlength=int(equal.max(initial=-1)) + 1)
    is_beyond = places_among(having_it) >= counts[having_it]
    return has[is_beyond], window[: len(has)][is_beyond]
