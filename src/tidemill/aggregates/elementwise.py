"""A combine of whole states, in the place where kernels expect one of NumPy's own.

The states of one aggregate are an array of records, and what is given is a function that
combines two such arrays state by state. Everything else that kernels ask for is made of it,
in rounds that halve what is left. Order is kept, so the function need only be associative.

>>> pairs = np.dtype([("n", "i8"), ("total", "f8")])
>>> both = Elementwise(lambda a, b: records(pairs, a["n"] + b["n"], a["total"] + b["total"]))
>>> states = records(pairs, np.array([1, 1, 2]), np.array([0.5, 1.5, 7.0]))
>>> both.reduce(states).tolist()
(4, 9.0)
>>> both.reduceat(states, np.array([0, 2])).tolist()
[(2, 2.0), (2, 7.0)]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tidemill.arrays import Array, IntArray


class Elementwise:
    """The part of `np.ufunc` that kernels use."""

    def __init__(self, combine: Callable[[Array, Array], Array]) -> None:
        self._combine = combine

    def __call__(self, left: Any, right: Any, /, *, out: Any = None) -> Any:
        return _into(out, self._combine(left, right))

    def reduce(self, array: Any, /, axis: int = 0, *, out: Any = None) -> Any:
        """All along the first axis into one; there is at least one."""
        assert axis == 0
        while len(array) > 1:
            even = len(array) // 2 * 2
            halves = self._combine(array[0:even:2], array[1:even:2])
            array = halves if even == len(array) else np.concatenate([halves, array[even:]])
        return _into(out, array[0])

    def reduceat(self, array: Any, /, indices: Any, axis: int = 0) -> Any:
        """From each index up to the next; just that one where the next is not beyond it."""
        assert axis == 0
        ends = np.append(indices[1:], len(array))
        lengths = np.maximum(ends - indices, 1)
        first = np.cumsum(lengths) - lengths
        places = np.repeat(indices - first, lengths) + np.arange(int(lengths.sum()))
        return self._runs(array.take(places, axis=0), lengths)

    def at(self, array: Any, indices: Any, values: Any, /) -> None:
        """Each value is combined into its place, those of one place in their order."""
        if not len(indices):
            return
        # NumPy sorts 16-bit integers by radix, several times as fast as wider ones.
        narrow = np.asarray(indices).astype(np.uint16) if len(array) <= 2**16 else indices
        order = np.argsort(narrow, kind="stable")
        place = indices[order]
        begins = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
        combined = self._runs(values.take(order), np.diff(begins, append=len(place)))
        places = place[begins]
        put(array, places, self._combine(array.take(places), combined))

    def accumulate(self, array: Any, /, axis: int = 0, *, out: Any = None) -> Any:
        assert axis == 0
        totals = array.copy()
        for place in range(1, len(array)):
            totals[place] = self._combine(totals[place - 1], array[place])
        return _into(out, totals)

    def _runs(self, array: Array, lengths: IntArray) -> Array:
        """One state for each run of neighbours, of these lengths, each at least one."""
        while len(array) > len(lengths):
            first = np.cumsum(lengths) - lengths
            place = np.arange(len(array)) - np.repeat(first, lengths)
            # A state joins the one before it if it is second, fourth, … in its own run.
            joins = place & 1 == 1
            right = np.flatnonzero(joins)
            left = array.take(np.flatnonzero(~joins), axis=0)
            pairs = self._combine(array.take(right - 1, axis=0), array.take(right, axis=0))
            # Before the left one of a pair stand all others but those that have joined.
            put(left, right - 1 - np.arange(len(right)), pairs)
            array, lengths = left, (lengths + 1) // 2
        return array


def records(dtype: np.dtype[Any], *columns: Any) -> Array:
    """An array of records from the arrays of their fields."""
    records = np.empty(np.shape(columns[0]), dtype)
    for name, column in zip(dtype.names or (), columns, strict=True):
        records[name] = column
    return records


def put(array: Array, places: IntArray, values: Array) -> None:
    """`array[places] = values` of records, copied whole: field by field takes ten times as long.

    To read some, `take` is as much faster than an index.
    """
    if array.dtype.names is None or array.dtype.hasobject:
        array[places] = values
        return
    opaque = f"V{array.dtype.itemsize}"
    array.view(opaque)[places] = np.ascontiguousarray(values).view(opaque)


def _into(out: Any, found: Any) -> Any:
    if out is None:
        return found
    out[...] = found
    return out
