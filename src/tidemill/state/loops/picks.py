"""Compiled loops that pick some values of each of many runs of bags: the heaviest, or the least.

What a request has of every value is added up in a table. From one request to the next, entries
that come in are added and those that left are taken out, if that is less work than to begin
anew. What is not exact is never taken out.
"""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled

_BITS, _MASK = 32, 2**32 - 1


@compiled
def pick(
    order: Array,
    first: Array,
    last: Array,
    before: Array,
    begin: Array,
    end: Array,
    codes: Array,
    weights: Array,
    size: int,
    most: int,
    by_weight: bool,
    is_exact: bool,
    room: Array,
    picked: Array,
    weighing: Array,
) -> Array:
    """Up to `most` values of each request, and what each weighs; how many there are is told.

    Request r has the places from `room[r]` on. The heaviest come first, and of equal ones the
    least; or, not by weight, the least values come first. `is_exact` is for whole numbers.
    """
    entries, total = np.zeros(size, np.int64), np.zeros((len(weights), size), weights.dtype)
    met, is_met = np.empty(size, np.int32), np.zeros(size, np.bool_)
    weighed = total if len(weights) == 1 else np.empty((len(weights), size), weights.dtype)
    reported, count = np.zeros(len(first), np.int64), 0
    low, high = 0, 0
    for at in range(len(order)):
        request = order[at]
        to_low, to_high = first[request], last[request]
        anew = before[to_high] - before[to_low]
        if not is_exact or to_low >= high or _apart(before, low, high, to_low, to_high) >= anew:
            for place in range(count):
                code = met[place]
                entries[code], is_met[code] = 0, False
                total[:, code] = 0
            count = 0
            low = high = to_low
        for cell in range(low, to_low):
            _remove(begin[cell], end[cell], codes, weights, entries, total)
        for cell in range(high, to_high):
            count = _add(begin[cell], end[cell], codes, weights, entries, total, met, is_met, count)
        for cell in range(to_high, high):
            _remove(begin[cell], end[cell], codes, weights, entries, total)
        low, high = to_low, to_high
        count = _without_absent(entries, met, is_met, count)
        if len(weights) > 1:
            _carry(total, weighed, met, count)
        reported[request] = _first(
            met, count, weighed, by_weight, most, picked[room[request] : room[request + 1]]
        )
        for place in range(reported[request]):
            weighing[:, room[request] + place] = weighed[:, picked[room[request] + place]]
    return reported


@compiled
def to_and_fro(order: Array, first: Array) -> None:
    """Every second run of requests that begin at one cell, turned round.

    Requests come in by where they begin, then where they end. So from one to the next the end
    moves little, also where the next begins elsewhere.
    """
    low, is_odd = 0, False
    while low < len(order):
        high = low + 1
        while high < len(order) and first[order[high]] == first[order[low]]:
            high += 1
        if is_odd:
            order[low:high] = order[low:high][::-1].copy()
        low, is_odd = high, not is_odd


@compiled
def _apart(before: Array, low: int, high: int, to_low: int, to_high: int) -> int:
    """The number of entries in one of two runs alone; the second does not begin before."""
    return int(before[to_low] - before[low] + abs(before[to_high] - before[high]))


@compiled
def _add(
    begin: int,
    end: int,
    codes: Array,
    weights: Array,
    entries: Array,
    total: Array,
    met: Array,
    is_met: Array,
    count: int,
) -> int:
    for entry in range(begin, end):
        code = codes[entry]
        entries[code] += 1
        for limb in range(len(weights)):
            total[limb, code] += weights[limb, entry]
        if not is_met[code]:
            is_met[code] = True
            met[count] = code
            count += 1
    return count


@compiled
def _remove(begin: int, end: int, codes: Array, weights: Array, held: Array, total: Array) -> None:
    for entry in range(begin, end):
        held[codes[entry]] -= 1
        for limb in range(len(weights)):
            total[limb, codes[entry]] -= weights[limb, entry]


@compiled
def _without_absent(entries: Array, met: Array, is_met: Array, count: int) -> int:
    """The values met without those that are no longer there."""
    remaining = 0
    for place in range(count):
        if entries[met[place]]:
            met[remaining] = met[place]
            remaining += 1
        else:
            is_met[met[place]] = False
    return remaining


@compiled
def _carry(total: Array, weighed: Array, met: Array, count: int) -> None:
    """The weights of values, comparable limb by limb from the last."""
    limbs = len(total)
    for place in range(count):
        code = met[place]
        weighed[:, code] = total[:, code]
        for limb in range(limbs - 1):
            weighed[limb + 1, code] += np.int64(weighed[limb, code]) >> _BITS
            weighed[limb, code] = np.int64(weighed[limb, code]) & _MASK


@compiled
def _first(
    met: Array, count: int, weighed: Array, by_weight: bool, most: int, picked: Array
) -> int:
    """The first `most` of the values met, in order, by a heap with the last of them on top."""
    size = 0
    for place in range(count):
        code = met[place]
        if size < most:
            at = size
            size += 1
            while at and _comes_before(picked[(at - 1) >> 1], code, weighed, by_weight):
                picked[at] = picked[(at - 1) >> 1]
                at = (at - 1) >> 1
            picked[at] = code
        elif _comes_before(code, picked[0], weighed, by_weight):
            _sift(picked, size, code, weighed, by_weight)
    for left in range(size - 1, 0, -1):
        code = picked[left]
        picked[left] = picked[0]
        _sift(picked, left, code, weighed, by_weight)
    return size


@compiled
def _sift(picked: Array, size: int, code: int, weighed: Array, by_weight: bool) -> None:
    """A value in the place of the one on top, moved down to where it belongs."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _comes_before(picked[child], picked[child + 1], weighed, by_weight):
            child += 1
        if not _comes_before(code, picked[child], weighed, by_weight):
            break
        picked[at] = picked[child]
        at = child
    picked[at] = code


@compiled
def _comes_before(left: int, right: int, weighed: Array, by_weight: bool) -> bool:
    """NaN weighs more than any number."""
    if by_weight:
        for limb in range(len(weighed) - 1, -1, -1):
            weight, other = weighed[limb, left], weighed[limb, right]
            if weight != other and (weight == weight or other == other):
                return bool(weight > other or weight != weight)
    return left < right
