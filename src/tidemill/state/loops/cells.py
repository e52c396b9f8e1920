"""The loops that NumPy has no call for, compiled once for a machine.

Each says in plain Python what it does.

>>> totals = np.zeros(2, np.int64)
>>> add_at(totals, np.array([0, 1, 1]), np.array([5, 6, 7]), np.array([0, 1, 2]))
>>> totals.tolist()
[5, 13]
"""

from __future__ import annotations

from typing import Any

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
    best: Array, place: Array, times: Array, values: Array, rows: Array, last: bool
) -> None:
    """The row of each place that comes first, or last; of what comes at once, the least or most.

    NaN is above all numbers. A place without rows keeps -1.
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


@compiled
def rank(codes: Array, words: Array, before: Array, ranks: Array) -> int:
    """The rank of each code among those that occur; `words` has a bit for every code there is.

    All bits are clear at first, and those of the codes set afterwards; a rank is the count of
    bits before, in the words `before` and in the code's own.
    """
    bit = np.uint64(1)
    for i in range(len(codes)):
        words[codes[i] >> 6] |= bit << np.uint64(codes[i] & 63)
    total = 0
    for w in range(len(words)):
        before[w] = total
        total += _bits(words[w])
    for i in range(len(codes)):
        lower = words[codes[i] >> 6] & ((bit << np.uint64(codes[i] & 63)) - bit)
        ranks[i] = before[codes[i] >> 6] + _bits(lower)
    return total


@compiled
def list_bits(words: Array, places: Array) -> None:
    """The places of all bits that are set, ascending."""
    count = 0
    for w in range(len(words)):
        word = words[w]
        while word:
            below = word & (~word + np.uint64(1))
            places[count] = w * 64 + _bits(below - np.uint64(1))
            word ^= below
            count += 1


@compiled
def _bits(word: Any) -> Any:
    """How many are set; compilers know this form and make one instruction of it."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def hand_out(
    first: Array,
    taker: Array,
    home: Array,
    kind: Array,
    column: Array,
    group: Array,
    groups: int,
    code: Array,
    row: Array,
) -> int:
    """Each row handed to the takers of its kind, `taker[first[kind]:first[kind + 1]]`.

    A taker has homes by column, or -1 where it wants nothing. `code`, of home and group, and
    `row` are filled; how many there are is told.
    """
    count = 0
    for i in range(len(kind)):
        for k in range(first[kind[i]], first[kind[i] + 1]):
            at = home[taker[k], column[i]]
            if at >= 0:
                code[count] = at * groups + group[i]
                row[count] = i
                count += 1
    return count
