"""Compiled loops that combine, for each of some windows, the slices of one group.

What is walked is a column of a matrix of slices by groups. In NumPy the cells of all windows
would be gathered first, which takes several times as long as to combine them.

>>> cells = np.array([[1, 8], [2, 8], [4, 8]])
>>> into = np.zeros(2, np.int64)
>>> add_runs(cells, np.array([0, 1]), np.array([2, 3]), np.array([0, 1]), into)
>>> into.tolist()
[3, 16]
"""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled


@compiled
def subtract_ends(totals: Array, lo: Array, hi: Array, group: Array, into: Array) -> None:
    """The total before the end of each window less that before its start."""
    for i in range(len(lo)):
        into[i] = totals[hi[i], group[i]] - totals[lo[i], group[i]]


@compiled
def subtract_rows(totals: Array, lo: Array, hi: Array, into: Array) -> None:
    """The same in every column."""
    for i in range(len(lo)):
        before, after = totals[lo[i]], totals[hi[i]]
        for group in range(totals.shape[1]):
            into[i, group] = after[group] - before[group]


@compiled
def add_runs(cells: Array, lo: Array, hi: Array, group: Array, into: Array) -> None:
    """Slices `lo:hi` of the group are added to what is there; so, too, in the loops after this."""
    for i in range(len(lo)):
        for at in range(lo[i], hi[i]):
            into[i] += cells[at, group[i]]


@compiled
def minimum_runs(cells: Array, lo: Array, hi: Array, group: Array, into: Array) -> None:
    for i in range(len(lo)):
        for at in range(lo[i], hi[i]):
            into[i] = np.minimum(into[i], cells[at, group[i]])


@compiled
def maximum_runs(cells: Array, lo: Array, hi: Array, group: Array, into: Array) -> None:
    for i in range(len(lo)):
        for at in range(lo[i], hi[i]):
            into[i] = np.maximum(into[i], cells[at, group[i]])


@compiled
def fmin_runs(cells: Array, lo: Array, hi: Array, group: Array, into: Array) -> None:
    for i in range(len(lo)):
        for at in range(lo[i], hi[i]):
            into[i] = np.fmin(into[i], cells[at, group[i]])
