"""Compiled loops that sort by small keys, and that merge bags at places."""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled


@compiled
def sort_by(keys: Array, size: int) -> tuple[Array, Array]:
    """Places of the keys, which lie in `[0, size)`, in ascending order; where each key begins."""
    begin = np.zeros(size + 1, np.int64)
    for i in range(len(keys)):
        begin[keys[i] + 1] += 1
    for key in range(size):
        begin[key + 1] += begin[key]
    at, order = begin[:-1].copy(), np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        order[at[keys[i]]] = i
        at[keys[i]] += 1
    return order, begin


@compiled
def merge(
    rows: Array,
    place: Array,
    places: int,
    begin: Array,
    end: Array,
    codes: Array,
    weights: Array,
    size: int,
) -> tuple[Array, Array, Array]:
    """The entries of some bags put together at their places, each value once.

    Told are where each place's entries begin, and all entries. `size` is the dictionary's.
    """
    order, by_place = sort_by(place, places)
    most = 0
    for i in range(len(rows)):
        most += end[rows[i]] - begin[rows[i]]
    first, entries = np.empty(places + 1, np.int64), 0
    merged_codes, added = np.empty(most, np.int32), np.empty((len(weights), most), weights.dtype)
    place_of = np.full(size, -1, np.int64)
    for at in range(places):
        first[at] = entries
        for i in range(by_place[at], by_place[at + 1]):
            row = rows[order[i]]
            for entry in range(begin[row], end[row]):
                code = codes[entry]
                to = place_of[code]
                if to < first[at]:
                    to = entries
                    place_of[code], merged_codes[to] = to, code
                    for limb in range(len(weights)):
                        added[limb, to] = weights[limb, entry]
                    entries += 1
                else:
                    for limb in range(len(weights)):
                        added[limb, to] += weights[limb, entry]
    first[places] = entries
    return first, merged_codes[:entries].copy(), added[:, :entries].copy()
