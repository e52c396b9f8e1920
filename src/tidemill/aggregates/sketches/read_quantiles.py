"""KLL sketches of doubles, read from the library's bytes.

After 8 bytes that say what it is, a sketch has one value, or how many it has seen, the number of
its levels, where each of them begins, the least and the greatest value ever, and the values of
all levels. One of level n stands for 2^n.

>>> from tidemill.aggregates.sketches.quantiles import Quantiles
>>> states = [Quantiles(8).of(np.array(some, np.float64)) for some in ([], [7], [3, 5])]
>>> found = read_quantiles(list(map(Quantiles(8).to_bytes, states)))
>>> found.begin.tolist(), found.end.tolist(), found.is_thinned.tolist()
([0, 0, 1], [0, 1, 3], [False, False, False])
>>> sorted(found.values.tolist()), found.weights.tolist()
([3.0, 5.0, 7.0], [1, 1, 1])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidemill.aggregates.sketches.flat import flatten_bytes, read_whole
from tidemill.arrays import Array, BoolArray, FloatArray, IntArray
from tidemill.compiling import compiled

_FLAGS_AT, _LEVELS_AT, _HEAD = 3, 18, 20
_EMPTY, _SINGLE = 1, 4
_ENDS = 16  # bytes of the least and the greatest


@dataclass(frozen=True)
class KllValues:
    """Sketch i has the entries `begin[i]:end[i]`.

    One that is thinned has its least and its greatest value among them, with no weight.
    """

    begin: IntArray
    end: IntArray
    values: FloatArray
    weights: IntArray
    is_thinned: BoolArray


def read_quantiles(states: Sequence[bytes | None]) -> KllValues:
    sketches = flatten_bytes(states)
    sizes, is_thinned = _sizes(sketches.data, sketches.at)
    end = np.cumsum(sizes)
    bits, weights = np.empty(int(sizes.sum()), np.int64), np.empty(int(sizes.sum()), np.int64)
    _read(sketches.data, sketches.at, end - sizes, bits, weights)
    # Zeros of either sign are one value.
    return KllValues(end - sizes, end, bits.view(np.float64) + 0.0, weights, is_thinned)


@compiled
def _sizes(data: Array, at: Array) -> tuple[Array, Array]:
    cells = len(at) - 1
    sizes, is_thinned = np.zeros(cells, np.int64), np.zeros(cells, np.bool_)
    for cell in range(cells):
        low, high = at[cell], at[cell + 1]
        if low == high or data[low + _FLAGS_AT] & _EMPTY:
            continue
        if data[low + _FLAGS_AT] & _SINGLE:
            sizes[cell] = 1
            continue
        levels = np.int64(data[low + _LEVELS_AT])
        is_thinned[cell] = levels > 1
        ends = 0 if is_thinned[cell] else _ENDS
        sizes[cell] = (high - low - _HEAD - 4 * levels - ends) // 8
    return sizes, is_thinned


@compiled
def _read(data: Array, at: Array, begin: Array, bits: Array, weights: Array) -> None:
    for cell in range(len(at) - 1):
        low, high, to = at[cell], at[cell + 1], begin[cell]
        if low == high or data[low + _FLAGS_AT] & _EMPTY:
            continue
        if data[low + _FLAGS_AT] & _SINGLE:
            bits[to], weights[to] = read_whole(data, low + 8, 8), 1
            continue
        levels = np.int64(data[low + _LEVELS_AT])
        place = low + _HEAD + 4 * levels
        if levels > 1:
            for end in range(2):
                bits[to + end], weights[to + end] = read_whole(data, place + 8 * end, 8), 0
            to += 2
        place += _ENDS
        level, items = 0, read_whole(data, low + _HEAD, 4)
        while place < high:
            while (
                level + 1 < levels and read_whole(data, low + _HEAD + 4 * (level + 1), 4) <= items
            ):
                level += 1
            bits[to], weights[to] = read_whole(data, place, 8), np.int64(1) << level
            place, items, to = place + 8, items + 1, to + 1
