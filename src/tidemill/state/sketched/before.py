"""Totals of runs of cells, as differences of running totals."""

from __future__ import annotations

import numpy as np

from tidemill.arrays import IntArray


def before(values: IntArray) -> IntArray:
    """What all cells before each have, and before the end; of columns, in each.

    >>> before(np.array([3, 4])).tolist()
    [0, 3, 7]
    """
    totals = np.zeros((len(values) + 1, *values.shape[1:]), np.int64)
    np.cumsum(values, axis=0, out=totals[1:])
    return totals


def within(totals: IntArray, first: IntArray, last: IntArray) -> IntArray:
    found: IntArray = totals[last] - totals[first]
    return found
