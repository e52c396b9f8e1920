"""Compiled loops that find the values of given ranks in many runs of bags at once.

The entries of a cluster of requests are put into a wavelet matrix: level after level they are
parted by a bit of their code, the highest first, zeros before ones, with how many zeros and
what weight lie before each place. To find a rank is then a look at two places a level.
"""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled

# Entries in one matrix: a hundred megabytes for long dictionaries. Beyond it overlapping
# requests are parted, and one that is larger by itself is sorted.
MOST_ENTRIES = 1 << 19


@compiled
def at_fraction(
    order: Array,
    first: Array,
    last: Array,
    before: Array,
    begin: Array,
    end: Array,
    codes: Array,
    counts: Array,
    fraction: float,
    lower: Array,
    upper: Array,
    position: Array,
) -> None:
    """The codes on either side of a fraction of the way through each request's values.

    `before` has how many entries lie before each cell, and `position` becomes the place on the
    way, counted in values from 0. Of requests without values nothing is told.
    """
    low = 0
    while low < len(order):
        high, reach = part_of(order, first, last, before, low)
        base = first[order[low]]
        entries, weight = entries_of(base, reach, before, begin, end, codes, counts)
        least, levels = bits_of(entries)
        if high == low + 1:
            _alone(order[low], entries, weight, fraction, lower, upper, position)
        else:
            zeros, ahead = matrix_of(entries, weight, least, levels)
            for at in range(low, high):
                request = order[at]
                bounds = before[first[request]] - before[base], before[last[request]] - before[base]
                _between(request, bounds, zeros, ahead, least, fraction, lower, upper, position)
        low = high


@compiled
def part_of(order: Array, first: Array, last: Array, before: Array, low: int) -> tuple[int, int]:
    """A cluster, or as much of one as may be in a matrix."""
    reach, high = last[order[low]], low + 1
    base = before[first[order[low]]]
    while high < len(order) and first[order[high]] < reach:
        further = max(reach, last[order[high]])
        if before[further] - base > MOST_ENTRIES:
            break
        reach = further
        high += 1
    return high, reach


@compiled
def entries_of(
    low: int, high: int, before: Array, begin: Array, end: Array, codes: Array, counts: Array
) -> tuple[Array, Array]:
    count = before[high] - before[low]
    entries, weight = np.empty(count, np.int32), np.empty(count, np.int64)
    at = 0
    for cell in range(low, high):
        for entry in range(begin[cell], end[cell]):
            entries[at], weight[at] = codes[entry], counts[entry]
            at += 1
    return entries, weight


@compiled
def bits_of(codes: Array) -> tuple[int, int]:
    """The least code, and how many bits tell all of them apart."""
    if not len(codes):
        return 0, 0
    least, levels = codes.min(), 0
    apart = codes.max() - least
    while apart >> levels:
        levels += 1
    return least, levels


@compiled
def matrix_of(codes: Array, weight: Array, least: int, levels: int) -> tuple[Array, Array]:
    """By level and place, zeros before it; and the weight before it, after all levels too."""
    size = len(codes)
    zeros = np.zeros((levels, size + 1), np.int32)
    ahead = np.zeros((levels + 1, size + 1), np.int64)
    codes, weight = codes - np.int32(least), weight.copy()
    next_codes, next_weight = np.empty_like(codes), np.empty_like(weight)
    for level in range(levels):
        shift = levels - 1 - level
        count = 0
        for at in range(size):
            ahead[level, at + 1] = ahead[level, at] + weight[at]
            count += 1 - (codes[at] >> shift & 1)
            zeros[level, at + 1] = count
        clear_at, set_at = 0, count
        for at in range(size):
            if codes[at] >> shift & 1:
                next_codes[set_at], next_weight[set_at] = codes[at], weight[at]
                set_at += 1
            else:
                next_codes[clear_at], next_weight[clear_at] = codes[at], weight[at]
                clear_at += 1
        codes, next_codes = next_codes, codes
        weight, next_weight = next_weight, weight
    for at in range(size):
        ahead[levels, at + 1] = ahead[levels, at] + weight[at]
    return zeros, ahead


@compiled
def _between(
    request: int,
    bounds: tuple[int, int],
    zeros: Array,
    ahead: Array,
    least: int,
    fraction: float,
    lower: Array,
    upper: Array,
    position: Array,
) -> None:
    values = ahead[0, bounds[1]] - ahead[0, bounds[0]]
    if not values:
        return
    position[request] = (values - 1) * fraction
    rank = int(np.floor(position[request]))
    code, left = ranked(rank, bounds, zeros, ahead)
    lower[request] = upper[request] = code + least
    if rank < position[request] and not left:
        upper[request] = ranked(rank + 1, bounds, zeros, ahead)[0] + least


@compiled
def ranked(rank: int, bounds: tuple[int, int], zeros: Array, ahead: Array) -> tuple[int, int]:
    """The code at a rank, and how many more of it come after."""
    low, high = bounds
    code, size = 0, zeros.shape[1] - 1
    for level in range(len(zeros)):
        to_low, to_high = zeros[level, low], zeros[level, high]
        weight = ahead[level + 1, to_high] - ahead[level + 1, to_low]
        code <<= 1
        if rank < weight:
            low, high = to_low, to_high
        else:
            rank -= weight
            low, high = zeros[level, size] + low - to_low, zeros[level, size] + high - to_high
            code |= 1
    return code, ahead[len(zeros), high] - ahead[len(zeros), low] - rank - 1


@compiled
def _alone(
    request: int,
    codes: Array,
    weight: Array,
    fraction: float,
    lower: Array,
    upper: Array,
    position: Array,
) -> None:
    """A request by itself: its entries in order, gone through until the ranks are met."""
    values = weight.sum()
    if not values:
        return
    position[request] = (values - 1) * fraction
    low, high = int(np.floor(position[request])), int(np.ceil(position[request]))
    order, passed = np.argsort(codes), 0
    for at in range(len(order)):
        is_before = passed <= low
        passed += weight[order[at]]
        if is_before and low < passed:
            lower[request] = codes[order[at]]
        if high < passed:
            upper[request] = codes[order[at]]
            return
