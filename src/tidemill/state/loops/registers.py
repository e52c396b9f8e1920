"""Compiled loops over registers: the greatest of each over runs of cells, and what they come to.

Of a part of the requests that overlap, the registers of all cells are put into one table, and
those of 2, 4, 8, … cells beside them, so that a request is put together from a few rows. Rows are
of bytes, of which a core compares many at once.
"""

from __future__ import annotations

import math

import numpy as np

from tidemill.aggregates.sketches.read_coupons import VALUE_SHIFT
from tidemill.arrays import Array
from tidemill.compiling import compiled

# Bytes of the registers of one table, the runs of cells not counted, which are as many again.
MOST_BYTES = 1 << 26
_VALUES = 64  # of a register; the greatest stands for all beyond it
_PLACE = (1 << VALUE_SHIFT) - 1
_ALPHA = 1 / (2 * math.log(2))


@compiled
def estimate_registers(
    order: Array,
    first: Array,
    last: Array,
    begin: Array,
    end: Array,
    codes: Array,
    coupons: Array,
    data: Array,
    registers: Array,
    log_size: int,
    estimate: Array,
    used: Array,
) -> None:
    """Of each request the estimate, and how many registers are not zero."""
    size = 1 << log_size
    row = np.empty(size, np.uint8)
    low = 0
    while low < len(order):
        high, reach = _part(order, first, last, size, low)
        base, cells = first[order[low]], reach - first[order[low]]
        is_alone = high == low + 1
        table = np.zeros((1 if is_alone else 2 * cells, size), np.uint8)
        for cell in range(cells):
            into = table[0 if is_alone else cell]
            _add(base + cell, begin, end, codes, coupons, data, registers, into)
        if not is_alone:
            _fill(table, cells)
        for at in range(low, high):
            request = order[at]
            if is_alone:
                row[:] = table[0]
            else:
                _put_together(table, cells, first[request] - base, last[request] - base, row)
            counts = _counts(row)
            estimate[request] = _estimate(counts, size)
            used[request] = size - counts[0]
        low = high


@compiled
def _part(order: Array, first: Array, last: Array, size: int, low: int) -> tuple[int, int]:
    """Overlapping requests, or as many of them as may be in a table."""
    base, reach, high = first[order[low]], last[order[low]], low + 1
    while high < len(order) and first[order[high]] < reach:
        further = max(reach, last[order[high]])
        if (further - base) * size > MOST_BYTES:
            break
        reach = further
        high += 1
    return high, reach


@compiled
def _add(
    cell: int,
    begin: Array,
    end: Array,
    codes: Array,
    coupons: Array,
    data: Array,
    registers: Array,
    into: Array,
) -> None:
    """The registers of a cell, or its coupons."""
    if registers[cell] >= 0:
        _raise(into, data[registers[cell] : registers[cell] + len(into)])
    for entry in range(begin[cell], end[cell]):
        coupon = coupons[codes[entry]]
        place = (coupon & _PLACE) & (len(into) - 1)
        into[place] = max(into[place], np.uint8(coupon >> VALUE_SHIFT))


@compiled
def _raise(into: Array, row: Array) -> None:
    for place in range(len(into)):
        into[place] = max(into[place], row[place])


@compiled
def _fill(table: Array, cells: int) -> None:
    """After the rows of the cells those of pairs of them, after these those of pairs of pairs."""
    low, rows, to = 0, cells, cells
    while rows > 1:
        for pair in range(rows // 2):
            table[to + pair] = table[low + 2 * pair]
            _raise(table[to + pair], table[low + 2 * pair + 1])
        low, rows, to = to, rows // 2, to + rows // 2


@compiled
def _put_together(table: Array, cells: int, first: int, last: int, row: Array) -> None:
    """Climb from both ends, taking the row that sticks out."""
    row[:] = 0
    low, rows = 0, cells
    while first < last:
        if first & 1:
            _raise(row, table[low + first])
            first += 1
        if last & 1:
            last -= 1
            _raise(row, table[low + last])
        first, last = first >> 1, last >> 1
        low, rows = low + rows, rows // 2


@compiled
def _counts(row: Array) -> Array:
    """The number of registers that have each value."""
    # Four tables, as the next register often has the same value and would have to wait.
    counts = np.zeros((4, _VALUES), np.int64)
    for place in range(0, len(row), 4):
        for part in range(4):
            counts[part, row[place + part]] += 1
    return np.asarray(counts.sum(axis=0))


@compiled
def _estimate(counts: Array, size: int) -> float:
    last = len(counts) - 1
    total = size * _tau(1 - counts[last] / size)
    for value in range(last - 1, 0, -1):
        total = (total + counts[value]) / 2
    total += size * _sigma(counts[0] / size)
    return _ALPHA * size * size / total


@compiled
def _sigma(share: float) -> float:
    """x + x² + 2 x⁴ + 4 x⁸ + …"""
    if share == 1:
        return np.inf
    total, factor, before = share, 1.0, -1.0
    while total != before:
        before = total
        share *= share
        total += share * factor
        factor *= 2
    return total


@compiled
def _tau(share: float) -> float:
    """A third of 1 - x less the sum of (1 - x^2^-k)² 2^-k."""
    if share in (0, 1):
        return 0.0
    total, factor, before = 1 - share, 1.0, -1.0
    while total != before:
        before = total
        share = np.sqrt(share)
        factor /= 2
        total -= (1 - share) ** 2 * factor
    return total / 3
