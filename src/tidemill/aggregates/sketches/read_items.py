"""Counts of values, read from bytes: of whole numbers in a compiled loop, of texts one by one.

>>> from tidemill.aggregates.sketches import counts
>>> states = [counts.to_bytes(counts.counted(keys, [2] * len(keys))) for keys in ([7, 5], [5])]
>>> found = read_items([states[0], None, states[1]], Items(4, of_text=False))
>>> found.begin.tolist(), found.end.tolist(), found.keys.to_pylist(), found.counts.tolist()
([0, 2, 2], [2, 2, 3], [5, 7, 5], [2, 2, 2])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.aggregates.sketches import counts
from tidemill.aggregates.sketches.flat import flatten_plain, read_whole
from tidemill.aggregates.sketches.frequent import Items
from tidemill.arrays import Array, IntArray
from tidemill.compiling import compiled

_MARK, _ROWS_AT, _KEYS_AT = counts.MARK[0], counts.ROWS_AT, counts.HEAD_SIZE


@dataclass(frozen=True)
class Tallies:
    """State i has the entries `begin[i]:end[i]`, and up to `missed[i]` more of any value."""

    begin: IntArray
    end: IntArray
    keys: pa.Array
    counts: IntArray
    missed: IntArray


def read_items(states: Sequence[bytes | None], family: Items) -> Tallies:
    return _texts(states, family) if family.of_text else _numbers(states, family)


def _texts(states: Sequence[bytes | None], family: Items) -> Tallies:
    nothing = counts.counted([], [])
    sketches = [nothing if state is None else family.read(state) for state in states]
    end = np.cumsum([len(one.keys) for one in sketches], dtype=np.int64)
    begin = np.concatenate([[0], end[:-1]]).astype(np.int64)[: len(end)]
    texts = [text for one in sketches for text in one.values]
    often = np.concatenate([nothing.counts, *(one.counts for one in sketches)])
    missed = np.array([one.missed for one in sketches], np.int64)
    return Tallies(begin, end, pa.array(texts, pa.string()), often, missed)


def _numbers(states: Sequence[bytes | None], family: Items) -> Tallies:
    sketches = flatten_plain(
        states,
        0,
        lambda mark: mark == _MARK,
        lambda state: counts.to_bytes(family.read(state)),
    )
    sizes, missed = _sizes(sketches.data, sketches.at)
    end = np.cumsum(sizes)
    keys, often = (np.empty(int(sizes.sum()), np.int64) for _ in range(2))
    _read(sketches.data, sketches.at, end - sizes, end, keys, often)
    return Tallies(end - sizes, end, pa.array(keys), often, missed)


@compiled
def _sizes(data: Array, at: Array) -> tuple[Array, Array]:
    cells = len(at) - 1
    sizes, missed = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    for cell in range(cells):
        if at[cell] < at[cell + 1]:
            sizes[cell] = read_whole(data, at[cell] + _ROWS_AT, 8)
            missed[cell] = read_whole(data, at[cell] + _ROWS_AT + 8, 8)
    return sizes, missed


@compiled
def _read(data: Array, at: Array, begin: Array, end: Array, keys: Array, often: Array) -> None:
    for cell in range(len(at) - 1):
        size, place = end[cell] - begin[cell], at[cell] + _KEYS_AT
        for entry in range(size):
            keys[begin[cell] + entry] = read_whole(data, place + 8 * entry, 8)
            often[begin[cell] + entry] = read_whole(data, place + 8 * (size + entry), 8)
