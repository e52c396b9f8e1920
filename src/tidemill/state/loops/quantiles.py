"""Compiled loops that find the values at given shares of the weight of many runs of bags."""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled
from tidemill.state.loops.ranks import bits_of, entries_of, matrix_of, part_of, ranked


@compiled
def at_shares(
    order: Array,
    first: Array,
    last: Array,
    before: Array,
    begin: Array,
    end: Array,
    codes: Array,
    weights: Array,
    shares: Array,
    doubt: Array,
    values: Array,
) -> None:
    """By share and request, the least code with so large a share of the weight up to it.

    The shares 0 and 1 are the least and the greatest code, also where these weigh nothing.
    Without doubt only the first share is looked for, and the others are the same.
    """
    low = 0
    while low < len(order):
        high, reach = part_of(order, first, last, before, low)
        base = before[first[order[low]]]
        entries, weight = entries_of(first[order[low]], reach, before, begin, end, codes, weights)
        if high == low + 1:
            _alone(order[low], entries, weight, shares, doubt, values)
        else:
            least, levels = bits_of(entries)
            zeros, ahead = matrix_of(entries, weight, least, levels)
            for at in range(low, high):
                request = order[at]
                bounds = before[first[request]] - base, before[last[request]] - base
                if bounds[0] < bounds[1]:
                    _of_matrix(request, bounds, zeros, ahead, least, shares, doubt, values)
        low = high


@compiled
def _rank(share: float, weight: int) -> int:
    """The weight that lies before the value; it has to be reached, so it is rounded up."""
    return max(0, int(np.ceil(share * weight)) - 1)


@compiled
def _of_matrix(
    request: int,
    bounds: tuple[int, int],
    zeros: Array,
    ahead: Array,
    least: int,
    shares: Array,
    doubt: Array,
    values: Array,
) -> None:
    weight = ahead[0, bounds[1]] - ahead[0, bounds[0]]
    for number in range(len(shares)):
        if number and not doubt[request]:
            values[number, request] = values[0, request]
        elif 0 < shares[number] < 1:
            code = ranked(_rank(shares[number], weight), bounds, zeros, ahead)[0]
            values[number, request] = code + least
        else:
            values[number, request] = _end(bounds, zeros, shares[number] >= 1) + least


@compiled
def _end(bounds: tuple[int, int], zeros: Array, is_greatest: bool) -> int:
    """The least or the greatest code."""
    low, high = bounds
    code, size = 0, zeros.shape[1] - 1
    for level in range(len(zeros)):
        to_low, to_high = zeros[level, low], zeros[level, high]
        ones = (high - low) - (to_high - to_low)
        code <<= 1
        if ones == 0 or (to_low < to_high and not is_greatest):
            low, high = to_low, to_high
        else:
            low, high = zeros[level, size] + low - to_low, zeros[level, size] + high - to_high
            code |= 1
    return code


@compiled
def _alone(
    request: int, codes: Array, weight: Array, shares: Array, doubt: Array, values: Array
) -> None:
    """A request by itself: its entries in order."""
    if not len(codes):
        return
    order = np.argsort(codes)
    passed = np.cumsum(weight[order])
    for number in range(len(shares)):
        if number and not doubt[request]:
            values[number, request] = values[0, request]
        elif 0 < shares[number] < 1:
            rank = _rank(shares[number], passed[-1])
            values[number, request] = codes[order[np.searchsorted(passed, rank, "right")]]
        else:
            values[number, request] = codes[order[-1 if shares[number] >= 1 else 0]]
