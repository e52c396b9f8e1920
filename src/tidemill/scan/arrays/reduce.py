"""Lanes of rows ⇒ lanes of groups."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidemill.aggregates import Bags, Encoded, Kept, Lane, moments
from tidemill.aggregates.bags import from_codes
from tidemill.aggregates.elementwise import records
from tidemill.aggregates.encoding import rank_pairs
from tidemill.aggregates.lanes import BAGS
from tidemill.aggregates.limbs import split_int64
from tidemill.aggregates.user.lanes import running_lane
from tidemill.arrays import Array, IntArray
from tidemill.scan.arrays.sketching import sketched
from tidemill.scan.arrays.times import Admitted
from tidemill.state.combining import combined
from tidemill.state.loops import cells as loops

# States that are lifted and combined at a time. A few megabytes stay in a core's cache; with
# 64 MiB a million rows took two to four times as long.
_MOST_STATE_BYTES = 2**21


def lift(lane: Lane, timed: Admitted, rows: Array | None, ids: IntArray, count: int) -> Kept:
    """The lane of so many groups; `ids` are the groups of the rows named, or of all."""
    if lane.argument is None:
        return Encoded(np.bincount(ids, minlength=count), None)
    if lane.kind == "user":
        return _states(lane, timed, np.arange(len(ids)) if rows is None else rows, ids, count)
    name = lane.argument.columns[0]
    column = timed.chunk.column(name)
    known = column.valid if rows is None or column.valid is None else column.valid[rows]
    mine = ids if known is None else ids[known]
    if lane.kind == "count":
        return Encoded(np.bincount(mine, minlength=count), None)
    if lane.kind in BAGS:
        return combined(lane, _bags(lane, timed), ids, count, rows)
    if lane.kind in ("moments", "first", "last") or lane.is_sketch:
        rows = np.arange(len(ids)) if rows is None else rows
        rows = rows if known is None else rows[known]
        if lane.is_sketch:
            return sketched(lane, column, rows, mine, count)
        if lane.kind == "moments":
            return _moments(column.numbers, rows, mine, count)
        return _outermost(lane, timed, name, rows, mine, count)
    return combined(lane, Encoded(column.numbers, column.valid), ids, count, rows)


def _states(lane: Lane, timed: Admitted, rows: Array, ids: IntArray, count: int) -> Encoded:
    """Some rows at a time, so that their states are still at hand when they are combined."""
    mine = running_lane(lane)
    found = mine.algebra.filled((count,), mine.states.dtype)
    step = max(1, _MOST_STATE_BYTES // mine.states.dtype.itemsize)
    for begin in range(0, len(rows), step):
        some = rows[begin : begin + step]
        lifted = mine.lift([timed.chunk.values(s.columns[0], some) for s in lane.arguments])
        mine.algebra.combine.at(found, ids[begin : begin + step], lifted)
    return Encoded(found, None)


def _moments(values: Array, rows: Array, ids: IntArray, count: int) -> Encoded:
    n, mean, m2 = np.zeros(count), np.zeros(count), np.zeros(count)
    loops.moments_at(n, mean, m2, ids, values, rows)
    return Encoded(records(moments.DTYPE, n, mean, m2), None)


def _outermost(
    lane: Lane, timed: Admitted, name: str, rows: Array, ids: IntArray, count: int
) -> Encoded:
    """The first or the last value of each group with its time; NULL where there is none."""
    best = np.full(count, -1, np.int64)
    values, times = timed.chunk.column(name).numbers, timed.times_us
    loops.outermost_at(best, ids, times, values, rows, lane.kind == "last")
    valid = best >= 0
    some = np.where(valid, best, 0)
    pairs = [pa.array(times[some]), timed.chunk.values(name, some)]
    whole = pa.StructArray.from_arrays(pairs, ["t", "v"])
    return rank_pairs(whole, None if valid.all() else valid)


def _bags(lane: Lane, timed: Admitted) -> Bags:
    """Of each row of the chunk the one value, with its weight; none without either."""
    column, *others = (timed.chunk.column(scalar.columns[0]) for scalar in lane.arguments)
    weights = np.ones((1, len(timed.chunk)), np.int64)
    if others:
        weights = others[0].numbers[None]
        if len(lane.summed.parts) == 2:
            weights = np.ascontiguousarray(split_int64(weights[0]).T)
    distinct = column.distinct
    found = from_codes(distinct.digit.codes, distinct.values, weights)
    known = [part.valid for part in (column, *others) if part.valid is not None]
    there = np.logical_and.reduce(known) if known else 1
    return Bags(found.begin, found.begin + there, found.codes, weights, found.dictionary)
