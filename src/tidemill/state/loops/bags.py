"""Compiled loops over the entries of bags that are asked about for windows.

A *request* is a run of cells, `first:last`; cells lie sorted by group and slice, so that what a
window has of a group is one. Requests are dealt with in an order in which `first` ascends. Those
that overlap are a *cluster*, and of a cluster each entry is read once or twice whatever the
number of requests.
"""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled


@compiled
def count_distinct(
    order: Array,
    first: Array,
    last: Array,
    limit: Array,
    begin: Array,
    end: Array,
    codes: Array,
    size: int,
) -> Array:
    """The number of values in each request, of those with codes below its limit.

    The cells of a cluster are gone through from right to left, and each value is noted at the
    leftmost cell met so far; a request that begins there has those noted before its end.
    """
    counts, nearest = np.zeros(len(first), np.int64), np.full(size, -1, np.int64)
    low, passed = 0, 0
    while low < len(order):
        high, reach = cluster(order, first, last, limit, low)
        base, below = first[order[low]], limit[order[low]]
        noted = np.zeros(reach - base + 1, np.int64)
        cell = reach
        for at in range(high - 1, low - 1, -1):
            request = order[at]
            while cell > first[request]:
                cell -= 1
                new = 0
                for entry in range(begin[cell], end[cell]):
                    code = codes[entry]
                    if code < below:
                        # What lies below `passed` was noted for another cluster.
                        if nearest[code] >= passed:
                            _note(noted, nearest[code] - passed, -1)
                        nearest[code] = passed + cell - base
                        new += 1
                _note(noted, cell - base, new)
            counts[request] = _noted(noted, last[request] - base)
        passed += reach - base
        low = high
    return counts


@compiled
def cluster(order: Array, first: Array, last: Array, limit: Array, low: int) -> tuple[int, int]:
    """The end of the cluster that begins at a place of the order, and that of its cells.

    Requests of one cluster have the same limit.
    """
    reach, high = last[order[low]], low + 1
    while (
        high < len(order) and first[order[high]] < reach and limit[order[high]] == limit[order[low]]
    ):
        reach = max(reach, last[order[high]])
        high += 1
    return high, reach


# Totals of all cells before one, in as many steps as their number has digits: Fenwick's tree.


@compiled
def _note(noted: Array, cell: int, count: int) -> None:
    at = cell + 1
    while at < len(noted):
        noted[at] += count
        at += at & -at


@compiled
def _noted(noted: Array, cells: int) -> int:
    total, at = 0, cells
    while at > 0:
        total += noted[at]
        at -= at & -at
    return total
