"""Theta sketches, read from the library's bytes: hashes, and below what all of them are kept.

After 8 bytes that say what it is, a sketch has one hash, or how many it has, the limit if it has
dropped any, and the hashes. Spark packs hashes as differences, which the library undoes.

>>> from tidemill.aggregates.sketches.distinct import Theta
>>> few, many = (Theta(7).to_bytes(Theta(7).make(range(n), [])) for n in (2, 999))
>>> found = read_hashes([few, None, many])
>>> (found.end - found.begin)[:2].tolist(), (found.limit == ALL).tolist()
([2, 0], [True, True, False])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import datasketches
import numpy as np

from tidemill.aggregates.sketches.flat import flatten_plain, read_whole
from tidemill.arrays import Array, IntArray
from tidemill.compiling import compiled

ALL = 2**63 - 1  # hashes are below it, all of them
_VERSION_AT, _FLAGS_AT, _COUNT_AT, _LIMIT_AT = 1, 5, 8, 16
_PLAIN_VERSION, _EMPTY = 3, 4


@dataclass(frozen=True)
class ThetaHashes:
    """Sketch i has the hashes `begin[i]:end[i]`: all below the limit that its values have."""

    begin: IntArray
    end: IntArray
    hashes: IntArray
    limit: IntArray


def read_hashes(states: Sequence[bytes | None]) -> ThetaHashes:
    sketches = flatten_plain(
        states, _VERSION_AT, lambda version: version == _PLAIN_VERSION, _unpacked
    )
    sizes, limit = _sizes(sketches.data, sketches.at)
    end = np.cumsum(sizes)
    hashes = np.empty(int(sizes.sum()), np.int64)
    _read(sketches.data, sketches.at, end - sizes, end, hashes)
    return ThetaHashes(end - sizes, end, hashes, limit)


def _unpacked(state: bytes) -> bytes:
    return bytes(datasketches.compact_theta_sketch.deserialize(state).serialize())


@compiled
def _sizes(data: Array, at: Array) -> tuple[Array, Array]:
    cells = len(at) - 1
    sizes, limit = np.zeros(cells, np.int64), np.full(cells, ALL, np.int64)
    for cell in range(cells):
        low = at[cell]
        if low == at[cell + 1]:
            continue
        longs = data[low] & 63
        if longs == 1:
            sizes[cell] = 0 if data[low + _FLAGS_AT] & _EMPTY else 1
        else:
            sizes[cell] = read_whole(data, low + _COUNT_AT, 4)
        if longs > 2:
            limit[cell] = read_whole(data, low + _LIMIT_AT, 8)
    return sizes, limit


@compiled
def _read(data: Array, at: Array, begin: Array, end: Array, hashes: Array) -> None:
    """The hashes, which follow the head to the end of the bytes."""
    for cell in range(len(at) - 1):
        place = at[cell + 1] - 8 * (end[cell] - begin[cell])
        for to in range(begin[cell], end[cell]):
            hashes[to] = read_whole(data, place, 8)
            place += 8
