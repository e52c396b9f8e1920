"""Count, mean and sum of squared deviations: what a variance is made of.

Two of them are combined by the formula of Chan, Golub and LeVeque, which never subtracts large
sums of squares. Nothing is ever taken out of a window again: after one 1e18 or one infinity,
later windows are as good as before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tidemill.aggregates.algebra import Algebra
from tidemill.aggregates.elementwise import Elementwise
from tidemill.arrays import Array
from tidemill.compiling import compiled

DTYPE = np.dtype([("n", np.float64), ("mean", np.float64), ("m2", np.float64)])


class _Moments(Elementwise):
    """Values are put into their places one by one; nothing need be sorted."""

    def at(self, array: Any, indices: Any, values: Any, /) -> None:
        assert array.flags.c_contiguous, "a copy would be written to"
        _merge_at(_plain(array), np.asarray(indices), _plain(values))


def combine(left: Array, right: Array) -> Array:
    """The moments of both together.

    >>> one = np.array([(2.0, 1.5, 0.5)], DTYPE)
    >>> combine(one, one).tolist()
    [(4.0, 1.5, 1.0)]
    """
    both = np.array(left, DTYPE, order="C")
    _merge(_plain(both), _plain(right))
    return both


def _plain(records: Array) -> Array:
    """Records as rows of their three numbers; those that are one after another are not copied."""
    return np.ascontiguousarray(records).view(np.float64).reshape(-1, 3)


@compiled
def _merge(into: Array, more: Array) -> None:
    for row in range(len(into)):
        _add(into, row, more, row)


@compiled
def _merge_at(into: Array, place: Array, more: Array) -> None:
    for row in range(len(place)):
        _add(into, place[row], more, row)


@compiled
def _add(into: Array, at: int, more: Array, row: int) -> None:
    # Nothing beside something: the formula would make NaN of an infinite mean.
    if more[row, 0] == 0:
        return
    if into[at, 0] == 0:
        into[at] = more[row]
        return
    count = into[at, 0] + more[row, 0]
    apart, share = more[row, 1] - into[at, 1], more[row, 0] / count
    into[at, 2] += more[row, 2] + apart * apart * into[at, 0] * share
    into[at, 1] += apart * share
    into[at, 0] = count


MOMENTS = Algebra("moments", _Moments(combine), np.zeros((), DTYPE)[()])
