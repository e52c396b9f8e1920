"""Count-min sketches and exact counts, read for one value: its counters, and what is in them.

A value has one counter in each row of a sketch, at the same places in all sketches of a width. An
exact count is what every counter of the value would be if nothing else were counted in it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import datasketches
import numpy as np

from tidemill.aggregates.sketches import counts
from tidemill.aggregates.sketches.flat import Flat, read_whole
from tidemill.arrays import Array, IntArray
from tidemill.compiling import compiled

# Rows of a count-min sketch: every one halves the doubt more than once; with five it is 0.7 %.
COUNT_MIN_ROWS = 5
_MARK, _ROWS_AT, _KEYS_AT = counts.MARK[0], counts.ROWS_AT, counts.HEAD_SIZE
_WEIGHT_AT, _COUNTERS_AT, _EMPTY_SIZE = 16, 24, 16


@lru_cache(maxsize=2**12)
def places(width: int, key: int) -> tuple[int, ...]:
    """The counters of a sketch in which the value is counted, as a sketch of it alone shows."""
    sketch = datasketches.count_min_sketch(COUNT_MIN_ROWS, width)
    sketch.update(key, 1)
    counters = np.frombuffer(bytes(sketch.serialize()), np.float64, offset=_COUNTERS_AT)
    return tuple(np.flatnonzero(counters).tolist())


def counters(states: Flat, width: int, key: int) -> IntArray:
    """By sketch: the counters of the value, then the weight of all values in a sketch.

    Of exact counts the last is 0, as they leave no doubt.
    """
    counters = np.zeros((len(states.at) - 1, COUNT_MIN_ROWS + 1), np.int64)
    bits = np.zeros(counters.shape, np.int64)
    _project(states.data, states.at, np.array(places(width, key)), key, counters, bits)
    return counters + bits.view(np.float64).astype(np.int64)


def scaled_sketch(sketch: bytes, weight: int) -> bytes:
    """The sketch with every count in it times the weight, that of all values included."""
    head, counters = sketch[:_WEIGHT_AT], np.frombuffer(sketch, np.float64, offset=_WEIGHT_AT)
    return head + (counters * weight).tobytes()


@compiled
def _project(data: Array, at: Array, places: Array, key: int, exact: Array, bits: Array) -> None:
    """The bits of the doubles that a sketch holds."""
    rows = len(places)
    for cell in range(len(at) - 1):
        low, high = at[cell], at[cell + 1]
        if high - low <= _EMPTY_SIZE:
            continue
        if data[low] == _MARK:
            exact[cell, :rows] = _counted(data, low, key)
            continue
        for row in range(rows):
            bits[cell, row] = read_whole(data, low + _COUNTERS_AT + 8 * places[row], 8)
        bits[cell, rows] = read_whole(data, low + _WEIGHT_AT, 8)


@compiled
def _counted(data: Array, at: int, key: int) -> Any:
    """By halving: the keys ascend."""
    rows = read_whole(data, at + _ROWS_AT, 8)
    low, high = 0, rows
    while low < high:
        middle = (low + high) // 2
        if read_whole(data, at + _KEYS_AT + 8 * middle, 8) < key:
            low = middle + 1
        else:
            high = middle
    if low == rows or read_whole(data, at + _KEYS_AT + 8 * low, 8) != key:
        return 0
    return read_whole(data, at + _KEYS_AT + 8 * (rows + low), 8)
