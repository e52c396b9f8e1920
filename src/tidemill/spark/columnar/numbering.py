"""Numbers without gaps for the combinations of several codes that occur among some rows.

Everything that is grouped here is grouped by such numbers. Where the product of the codes is
not much larger than the rows, a table over the product gives them without comparing anything.

>>> colour, size = Digit(np.array([0, 1, 0, 1]), 2), Digit(np.array([9, 4, 9, 5]), 10)
>>> found = number([colour, size], 4)
>>> found.ids.tolist(), found.count, found.rows.tolist()
([2, 0, 2, 1], 3, [1, 3, 2])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Codes = NDArray[Any]

# Bounds on the product for each row. Measured on half a million rows: the table of ranks costs
# 2 to 6 ns a row, the bitmap 6 to 30, and hashing 15 to 90, by how many differ.
_MOST_RANKS = 2
_MOST_BITS = 64
_FEW = 1 << 16  # so many are cheap however few the rows are
_INT32 = 2**31


@dataclass(frozen=True)
class Digit:
    """A code for each row, in `[0, size)`."""

    codes: Codes
    size: int


@dataclass(frozen=True)
class Numbered:
    """The number of each row's combination, and some row of each number."""

    ids: IntArray
    count: int
    rows: IntArray


def number(digits: Sequence[Digit], rows: int) -> Numbered:
    """The later digits weigh more: put first what varies most between neighbouring rows."""
    packed = Digit(np.zeros(rows, dtype=np.int32), min(1, rows))
    for digit in digits:
        if packed.size * digit.size > _MOST_BITS * rows + _FEW:
            packed = _ranked(packed)
        packed = _joined(packed, digit)
    if packed.size <= 1:
        return Numbered(np.zeros(rows, np.int64), packed.size, np.zeros(packed.size, np.int64))
    ranked = _ranked(packed)
    ids = ranked.codes.astype(np.int64, copy=False)
    some = np.empty(ranked.size, dtype=np.int64)
    some[ids] = np.arange(rows)
    return Numbered(ids, ranked.size, some)


def _joined(low: Digit, high: Digit) -> Digit:
    size = low.size * high.size
    if low.size == 1 or high.size == 1:
        return high if low.size == 1 else low
    codes: Codes = high.codes.astype(np.int32 if size < _INT32 else np.int64)
    codes *= low.size
    codes += low.codes
    return Digit(codes, size)


def _ranked(digit: Digit) -> Digit:
    """The same distinctions without gaps."""
    rows = len(digit.codes)
    if digit.size <= max(_FEW, _MOST_RANKS * rows):
        return occurring_codes(digit)[0]
    return _by_bits(digit) if digit.size <= _MOST_BITS * rows else _by_hash(digit)


def occurring_codes(digit: Digit) -> tuple[Digit, IntArray]:
    """The same distinctions without gaps, in the same order, and the old code of each."""
    occurs = np.zeros(digit.size, dtype=np.bool_)
    occurs[digit.codes] = True
    old = np.flatnonzero(occurs)
    if len(old) == digit.size:
        return digit, old
    ranks = np.empty(digit.size, dtype=np.int32)
    ranks[old] = np.arange(len(old))
    return Digit(ranks[digit.codes], len(old)), old


def _by_bits(digit: Digit) -> Digit:
    """A rank is the count of bits before: in the words before, and in the code's own word."""
    occurs = np.zeros(-(-digit.size // 64) * 64, dtype=np.bool_)
    occurs[digit.codes] = True
    words = np.packbits(occurs, bitorder="little").view("<u8")
    before = np.zeros(len(words) + 1, dtype=np.int32)
    np.cumsum(np.bitwise_count(words), out=before[1:])
    word, place = digit.codes >> 6, (digit.codes & 63).astype(np.uint64)
    lower = words[word] & ((np.uint64(1) << place) - np.uint64(1))
    return Digit(before[word] + np.bitwise_count(lower), int(before[-1]))


def _by_hash(digit: Digit) -> Digit:
    coded = pc.dictionary_encode(pa.array(digit.codes))
    return Digit(coded.indices.to_numpy(), len(coded.dictionary))
