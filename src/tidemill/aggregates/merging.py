"""A combine of states that are objects, in the place where kernels expect one of NumPy's own.

A state is never changed once it is in an array; what is given merges some of them, two at
least, into a new one. The identity is None. To merge many at once costs little more than to
merge two, so states that meet are gathered first.

>>> union = Merging(lambda states: frozenset().union(*states))
>>> states = np.array([frozenset("a"), None, frozenset("b"), frozenset("a")], object)
>>> [sorted(state) for state in union.reduceat(states, np.array([0, 2]))]
[['a'], ['a', 'b']]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tidemill.aggregates.algebra import AnyArray, IntArray

Merge = Callable[[Sequence[Any]], Any]
_NOTHING: Any = None


class Merging:
    """The part of `np.ufunc` that kernels use; axis 0 is the one along which states meet."""

    def __init__(self, merge: Merge) -> None:
        self._merge = merge

    def __call__(self, left: Any, right: Any, /, *, out: Any = None) -> Any:
        pairs = zip(np.ravel(left).tolist(), np.ravel(right).tolist(), strict=True)
        return _into(out, objects([self.merged(pair) for pair in pairs]).reshape(np.shape(left)))

    def reduce(self, array: Any, /, axis: int = 0, *, out: Any = None) -> Any:
        assert axis == 0
        return _into(out, self.reduceat(array, np.zeros(1, np.int64))[0])

    def reduceat(self, array: Any, /, indices: Any, axis: int = 0) -> Any:
        """From each index up to the next; just that one where the next is not beyond it."""
        assert axis == 0
        ends = np.maximum(np.append(indices[1:], len(array)), np.asarray(indices) + 1).tolist()
        runs = list(zip(indices.tolist(), ends, strict=True))
        columns = array.reshape(len(array), -1).T.tolist()
        found = [self.merged(column[a:b]) for a, b in runs for column in columns]
        return objects(found).reshape(len(runs), *array.shape[1:])

    def at(self, array: Any, indices: Any, values: Any, /) -> None:
        """Each value is merged into its place."""
        together = np.concatenate([array, values])
        places = np.concatenate([np.arange(len(array)), indices])
        array[:] = self.at_places(together, places, len(array))

    def accumulate(self, array: Any, /, axis: int = 0, *, out: Any = None) -> Any:
        assert axis == 0
        totals = array.copy()
        for place in range(1, len(array)):
            totals[place] = self(totals[place - 1], array[place])
        return _into(out, totals)

    def at_places(self, states: AnyArray, places: IntArray, count: int) -> AnyArray:
        """The states of each place, of so many, merged."""
        there = np.flatnonzero(states != _NOTHING)
        order = there[np.argsort(places[there], kind="stable")]
        ends = np.cumsum(np.bincount(places[there], minlength=count)).tolist()
        sorted_states, first, found = states[order].tolist(), 0, [None] * count
        for place, end in enumerate(ends):
            if end - first == 1:
                found[place] = sorted_states[first]
            elif end > first:
                found[place] = self._merge(sorted_states[first:end])
            first = end
        return objects(found)

    def merged(self, states: Sequence[Any]) -> Any:
        """Of any number of states, those that are there."""
        there = [state for state in states if state is not None]
        if len(there) < 2:
            return there[0] if there else None
        return self._merge(there)


def objects(states: Sequence[Any]) -> AnyArray:
    """An array of just these, whatever they are."""
    found = np.empty(len(states), dtype=object)
    found[:] = states
    return found


def _into(out: Any, found: Any) -> Any:
    if out is None:
        return found
    out[...] = found
    return out
