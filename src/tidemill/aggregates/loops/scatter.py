"""Compiled loops that put values of rows into places, which NumPy has no fast call for.

>>> totals = np.zeros(2, np.int64)
>>> add_at(totals, np.array([0, 1, 1]), np.array([5, 6, 7]), np.array([0, 1, 2]))
>>> totals.tolist()
[5, 13]
"""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled


@compiled
def add_at(into: Array, place: Array, values: Array, rows: Array) -> None:
    """Row `rows[i]` of the values is added at `place[i]`; so, too, in the loops after this."""
    for i in range(len(place)):
        into[place[i]] += values[rows[i]]


@compiled
def minimum_at(into: Array, place: Array, values: Array, rows: Array) -> None:
    for i in range(len(place)):
        into[place[i]] = np.minimum(into[place[i]], values[rows[i]])


@compiled
def maximum_at(into: Array, place: Array, values: Array, rows: Array) -> None:
    for i in range(len(place)):
        into[place[i]] = np.maximum(into[place[i]], values[rows[i]])


@compiled
def fmin_at(into: Array, place: Array, values: Array, rows: Array) -> None:
    for i in range(len(place)):
        into[place[i]] = np.fmin(into[place[i]], values[rows[i]])


@compiled
def mark_at(into: Array, place: Array, values: Array, rows: Array) -> None:
    """True where any of the values is."""
    for i in range(len(place)):
        if values[rows[i]]:
            into[place[i]] = True


@compiled
def moments_at(n: Array, mean: Array, m2: Array, place: Array, values: Array, rows: Array) -> None:
    """Count, mean and squared deviations, a value at a time, as Welford does."""
    for i in range(len(place)):
        at, value = place[i], float(values[rows[i]])
        n[at] += 1
        apart = value - mean[at]
        mean[at] += apart / n[at]
        m2[at] += apart * (value - mean[at])


@compiled
def outermost_at(
    best: Array,
    place: Array,
    times: Array,
    values: Array,
    has_value: Array,
    rows: Array,
    last: bool,
) -> None:
    """The row of each place that comes first, or last; of what comes at once, the least or most.

    A row without a value, which has a zero in its place, is below all numbers, and NaN above.
    A place without rows keeps -1.
    """
    for i in range(len(place)):
        at, row = place[i], rows[i]
        best_row = best[at]
        if best_row < 0 or times[row] != times[best_row]:
            if best_row < 0 or (times[row] > times[best_row]) == last:
                best[at] = row
            continue
        value, other = values[row], values[best_row]
        above = value > other or (value != value and other == other)
        below = value < other or (value == value and other != other)
        if has_value[row] != has_value[best_row]:
            above, below = has_value[row], has_value[best_row]
        if above if last else below:
            best[at] = row


@compiled
def order_groups(ids: Array, ends: Array, order: Array) -> None:
    """The rows group after group, each in its order; `ends`, zeros at first, tells of each group
    where its rows end."""
    for i in range(len(ids)):
        ends[ids[i]] += 1
    total = 0
    for g in range(len(ends)):
        rows = ends[g]
        ends[g] = total
        total += rows
    for i in range(len(ids)):
        order[ends[ids[i]]] = i
        ends[ids[i]] += 1
