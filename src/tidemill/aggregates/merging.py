"""States that are objects, merged where several meet.

A state is never changed once it is in an array; what is given merges some of them, two at
least, into a new one. Where there is none, there is None. To merge many at once costs little
more than to merge two, so states that meet are gathered first.

>>> states = objects([frozenset("a"), None, frozenset("b"), frozenset("a")])
>>> found = merged_at(lambda some: frozenset().union(*some), states, np.array([2, 1, 2, 0]), 3)
>>> [state and sorted(state) for state in found]
[['a'], None, ['a', 'b']]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tidemill.arrays import Array, IntArray

Merge = Callable[[Sequence[Any]], Any]
_NOTHING: Any = None


def merged_at(merge: Merge, states: Array, places: IntArray, count: int) -> Array:
    """The states of each place, of so many, merged."""
    there = np.flatnonzero(states != _NOTHING)
    order = there[np.argsort(places[there], kind="stable")]
    ends = np.cumsum(np.bincount(places[there], minlength=count)).tolist()
    sorted_states, first, merged = states[order].tolist(), 0, [None] * count
    for place, end in enumerate(ends):
        if end - first == 1:
            merged[place] = sorted_states[first]
        elif end > first:
            merged[place] = merge(sorted_states[first:end])
        first = end
    return objects(merged)


def objects(states: Sequence[Any]) -> Array:
    """An array of just these, whatever they are."""
    found = np.empty(len(states), dtype=object)
    found[:] = states
    return found
