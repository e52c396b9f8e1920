"""HyperLogLog sketches as the library writes them, merged register by register.

The library's own union works out the sums of an estimate again with every sketch it takes in.
Here registers are merged as arrays, a tenth of the time, and the sums worked out when somebody
asks. What comes of it is, byte for byte, what the library writes of a union of full sketches.

A sketch of 2^n registers of a byte each begins with 40 bytes: what it is, then an estimate that
only a sketch has that was never merged, the sum of 2^-register (registers from 32 on apart),
and how many registers are zero. Smaller ones are lists of coupons.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from tidemill.aggregates.sketches.read_coupons import (
    HEAD,
    MODE_AT,
    REGISTERS,
    VALUE_SHIFT,
    read_coupons,
)

_SUMS = struct.Struct("<dddii")
_SUMS_AT, _FIRST_SUM = 8, slice(16, 24)
_LOG_SIZE_AT = 3
_MERGED = bytes((10, 1, 7, 0, 0, 0x18, 0, REGISTERS))
_WEIGHTS = 2.0 ** -np.arange(64)
_NOT_SUMMED = bytes(8)


def is_full(state: bytes) -> bool:
    """True if it has its registers, of a byte each; else the library has to look at it."""
    return state[MODE_AT] == REGISTERS


def merged_registers(full: Sequence[bytes], few: Sequence[bytes]) -> bytes:
    """Of one full sketch or more, and lists of coupons; the sums are left out."""
    log_size = full[0][_LOG_SIZE_AT]
    rows = b"".join([memoryview(state)[HEAD:] for state in full])
    registers = np.frombuffer(rows, np.uint8).reshape(len(full), -1).max(axis=0)
    coupons = read_coupons(few, log_size).coupons
    place = coupons & (len(registers) - 1)
    np.maximum.at(registers, place, (coupons >> VALUE_SHIFT).astype(np.uint8))
    head = bytearray(HEAD)
    head[: len(_MERGED)] = _MERGED
    head[_LOG_SIZE_AT] = log_size
    return bytes(head) + bytes(registers)


def summed(state: bytes) -> bytes:
    """The sketch as the library has it."""
    if not is_full(state) or state[_FIRST_SUM] != _NOT_SUMMED:
        return state
    counts = np.bincount(np.frombuffer(state, np.uint8, offset=HEAD), minlength=64)
    sums = counts * _WEIGHTS
    header = _SUMS.pack(0.0, float(sums[:32].sum()), float(sums[32:].sum()), int(counts[0]), 0)
    return state[:_SUMS_AT] + header + state[HEAD:]
