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

from tidemill.aggregates.algebra import AnyArray, IntArray


class Elementwise:
    """The part of `np.ufunc` that kernels use."""

    def __init__(self, combine: Callable[[AnyArray, AnyArray], AnyArray]) -> None:
        self._combine = combine

    def __call__(self, left: Any, right: Any, /, *, out: Any = None) -> Any:
        return _into(out, self._combine(left, right))

    def reduce(self, array: Any, /, axis: int = 0, *, out: Any = None) -> Any:
        """All along the first axis into one; there is at least one."""
        assert axis == 0
        while len(array) > 1:
            whole = len(array) // 2 * 2
            halves = self._combine(array[0:whole:2], array[1:whole:2])
            array = halves if whole == len(array) else np.concatenate([halves, array[whole:]])
        return _into(out, array[0])

    def reduceat(self, array: Any, /, indices: Any, axis: int = 0) -> Any:
        """From each index up to the next; just that one where the next is not beyond it."""
        assert axis == 0
        ends = np.append(indices[1:], len(array))
        lengths = np.maximum(ends - indices, 1)
        first = np.cumsum(lengths) - lengths
        taken = np.repeat(indices - first, lengths) + np.arange(int(lengths.sum()))
        return self._runs(array[taken], np.repeat(np.arange(len(lengths)), lengths))

    def at(self, array: Any, indices: Any, values: Any, /) -> None:
        """Each value is combined into its place, those of one place in their order."""
        if not len(indices):
            return
        order = np.argsort(indices, kind="stable")
        place = indices[order]
        is_new = np.concatenate([[True], place[1:] != place[:-1]])
        found = self._runs(values[order], np.cumsum(is_new) - 1)
        places = place[is_new]
        array[places] = self._combine(array[places], found)

    def accumulate(self, array: Any, /, axis: int = 0, *, out: Any = None) -> Any:
        assert axis == 0
        totals = array.copy()
        for place in range(1, len(array)):
            totals[place] = self._combine(totals[place - 1], array[place])
        return _into(out, totals)

    def _runs(self, array: AnyArray, run: IntArray) -> AnyArray:
        """One state for each run of neighbours; `run` numbers them, ascending without gaps."""
        while len(run) > run[-1] + 1:
            # A state joins the one before it if it is second, fourth, … in its own run.
            first = np.searchsorted(run, run)
            joins = (np.arange(len(run)) - first) % 2 == 1
            into = np.flatnonzero(joins) - 1
            array = array.copy()
            array[into] = self._combine(array[into], array[joins])
            array, run = array[~joins], run[~joins]
        return array


def records(dtype: np.dtype[Any], *columns: Any) -> AnyArray:
    """An array of records from the arrays of their fields."""
    found = np.empty(np.shape(columns[0]), dtype)
    for name, column in zip(dtype.names or (), columns, strict=True):
        found[name] = column
    return found


def _into(out: Any, found: Any) -> Any:
    if out is None:
        return found
    out[...] = found
    return out
