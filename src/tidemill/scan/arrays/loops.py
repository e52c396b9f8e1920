"""Compiled loops over a hash of integers with open addresses: filled once, looked up by row.

Texts are looked up by integers made of their letters.

>>> slots = np.full(8, -1, np.int64)
>>> keys, ranks = np.array([10**12, -5, 7]), np.empty(3, np.int64)
>>> fill_slots(keys, slots)
>>> find_slots(np.array([7, 8, 10**12]), keys, slots, ranks)
>>> ranks.tolist()
[2, -1, 0]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled


@compiled
def fill_slots(keys: Array, slots: Array) -> None:
    """Put the place of each key into a slot; -1 is an empty one, and there are some."""
    last = len(slots) - 1
    for place in range(len(keys)):
        slot = _first_slot(keys[place], last)
        while slots[slot] >= 0:
            slot = (slot + 1) & last
        slots[slot] = place


@compiled
def find_slots(values: Array, keys: Array, slots: Array, places: Array) -> None:
    """The place of each value among the keys, -1 for none."""
    last = len(slots) - 1
    for row in range(len(values)):
        slot = _first_slot(values[row], last)
        while slots[slot] >= 0 and keys[slots[slot]] != values[row]:
            slot = (slot + 1) & last
        places[row] = slots[slot]


@compiled
def _first_slot(key: Any, last: Any) -> Any:
    """Multiplied by an odd constant, the upper half of a key depends on all of its bits."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(32)) & last


@compiled
def hash_texts(ends: Array, letters: Array, hashes: Array) -> None:
    """An integer for each text, as Fowler, Noll and Vo have it; `ends` begins with a start."""
    for row in range(len(hashes)):
        mixed = np.uint64(0xCBF29CE484222325)
        for place in range(ends[row], ends[row + 1]):
            mixed = (mixed ^ np.uint64(letters[place])) * np.uint64(0x100000001B3)
        hashes[row] = np.int64(mixed)
