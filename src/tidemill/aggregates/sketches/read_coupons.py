"""HyperLogLog sketches, read from the library's bytes: coupons, or where the registers are.

A small sketch is a list or a table of coupons of 4 bytes, in which an empty place is zero: the
place of a register in the lower 26 bits, its value above. Spark leaves empty places in.

>>> from tidemill.aggregates.sketches.distinct import HyperLogLog
>>> few, many = (HyperLogLog(7).make(range(n), []) for n in (2, 999))
>>> found = read_coupons([few, None, many], 7)
>>> (found.end - found.begin).tolist(), found.registers.tolist() == [-1, -1, len(few) + 40]
([2, 0, 0], True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import datasketches
import numpy as np
from numpy.typing import NDArray

from tidemill.aggregates.sketches.flat import flatten_plain, read_whole
from tidemill.arrays import Array, IntArray
from tidemill.compiling import compiled

HEAD = 40  # bytes before the registers
MODE_AT, REGISTERS = 7, 0x0A  # of a byte each
VALUE_SHIFT = 26
_MODE, _LIST, _SET, _FULL = 3, 0, 1, 2
_LIST_AT, _SET_AT = 8, 12


@dataclass(frozen=True)
class Coupons:
    """Sketch i has the coupons `begin[i]:end[i]`, or registers in `data`, or nothing."""

    begin: IntArray
    end: IntArray
    coupons: IntArray
    data: NDArray[np.uint8]
    registers: IntArray  # where they begin, or -1


def read_coupons(states: Sequence[bytes | None], log_size: int) -> Coupons:
    sketches = flatten_plain(states, MODE_AT, _is_plain, lambda state: _in_bytes(state, log_size))
    sizes, registers = _sizes(sketches.data, sketches.at)
    end = np.cumsum(sizes)
    coupons = np.empty(int(sizes.sum()), np.int64)
    _read(sketches.data, sketches.at, end - sizes, registers, coupons)
    return Coupons(end - sizes, end, coupons, sketches.data, registers)


def _is_plain(mode: Array) -> Array:
    return np.asarray((mode & _MODE != _FULL) | (mode == REGISTERS))


def _in_bytes(state: bytes, log_size: int) -> bytes:
    """A sketch whose registers are smaller than a byte."""
    union = datasketches.hll_union(log_size)
    union.update(datasketches.hll_sketch.deserialize(state))
    return bytes(union.get_result(datasketches.HLL_8).serialize_compact())


@compiled
def _first(data: Array, low: int) -> int:
    """The offset at which the coupons of a sketch begin."""
    return low + (_LIST_AT if data[low + MODE_AT] & _MODE == _LIST else _SET_AT)


@compiled
def _sizes(data: Array, at: Array) -> tuple[Array, Array]:
    cells = len(at) - 1
    sizes, registers = np.zeros(cells, np.int64), np.full(cells, -1, np.int64)
    for cell in range(cells):
        low, high = at[cell], at[cell + 1]
        if low == high:
            continue
        if data[low + MODE_AT] & _MODE == _FULL:
            registers[cell] = low + HEAD
            continue
        for place in range(_first(data, low), high - 3, 4):
            sizes[cell] += read_whole(data, place, 4) != 0
    return sizes, registers


@compiled
def _read(data: Array, at: Array, begin: Array, registers: Array, coupons: Array) -> None:
    for cell in range(len(at) - 1):
        low, high, to = at[cell], at[cell + 1], begin[cell]
        if low == high or registers[cell] >= 0:
            continue
        for place in range(_first(data, low), high - 3, 4):
            coupon = read_whole(data, place, 4)
            if coupon:
                coupons[to] = coupon
                to += 1
