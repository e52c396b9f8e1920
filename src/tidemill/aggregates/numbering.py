"""Numbers without gaps for the combinations of several codes that occur among some rows.

Everything that is grouped here is grouped by such numbers. Where the product of the codes is
not much larger than the rows, a bitmap over the product gives them without comparing anything.

>>> colour, size = Digit(np.array([0, 1, 0, 1]), 2), Digit(np.array([9, 4, 9, 5]), 10)
>>> found = number_rows([colour, size], 4)
>>> found.ids.tolist(), found.count, found.rows.tolist()
([2, 0, 2, 1], 3, [1, 3, 2])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates.encoded import flat
from tidemill.aggregates.loops.bitmaps import list_bits, rank_codes
from tidemill.arrays import Array, IntArray
from tidemill.compiling import is_worth_loading

# Bound on the product for each row. Measured on half a million rows and more: the bitmap costs
# 5 to 12 ns a row and hashing 15 to 90, by how many differ.
_MOST_BITS = 64
_FEW = 1 << 16  # so many are cheap however few the rows are
_INT32 = 2**31


@dataclass(frozen=True)
class Digit:
    """A code for each row, in `[0, size)`."""

    codes: Array
    size: int


@dataclass(frozen=True)
class Numbered:
    """The number of each row's combination, and some row of each number."""

    ids: IntArray
    count: int
    rows: IntArray


def number_rows(digits: Sequence[Digit], rows: int) -> Numbered:
    """The later digits weigh more: put first what varies most between neighbouring rows."""
    packed = Digit(np.zeros(rows, dtype=np.int32), min(1, rows))
    for digit in digits:
        if packed.size * digit.size > _MOST_BITS * rows + _FEW:
            packed, _ = distinct_codes(packed)
        packed = _joined(packed, digit)
    if packed.size <= 1:
        return Numbered(np.zeros(rows, np.int64), packed.size, np.zeros(packed.size, np.int64))
    ranked, _ = distinct_codes(packed)
    ids = ranked.codes.astype(np.int64, copy=False)
    last_rows = np.empty(ranked.size, dtype=np.int64)
    last_rows[ids] = np.arange(rows)
    return Numbered(ids, ranked.size, last_rows)


def _joined(low: Digit, high: Digit) -> Digit:
    size = low.size * high.size
    if low.size == 1 or high.size == 1:
        return high if low.size == 1 else low
    codes: Array = high.codes.astype(np.int32 if size < _INT32 else np.int64)
    codes *= low.size
    codes += low.codes
    return Digit(codes, size)


def distinct_codes(digit: Digit) -> tuple[Digit, IntArray]:
    """The same distinctions without gaps, and the old code of each new one.

    They are in the same order if the codes are not too sparse.
    """
    if digit.size <= _FEW and not is_worth_loading(len(digit.codes)):
        return _by_flags(digit)
    if digit.size <= _MOST_BITS * len(digit.codes) + _FEW:
        return _by_bits(digit)
    coded = pc.dictionary_encode(pa.array(digit.codes))
    old = coded.dictionary.to_numpy().astype(np.int64, copy=False)
    return Digit(coded.indices.to_numpy(), len(old)), old


def _by_flags(digit: Digit) -> tuple[Digit, IntArray]:
    """As by bits, in NumPy."""
    flags = np.zeros(digit.size, dtype=np.bool_)
    flags[digit.codes] = True
    old = np.flatnonzero(flags)
    ranks = np.empty(digit.size, dtype=digit.codes.dtype)
    ranks[old] = np.arange(len(old))
    return Digit(ranks[digit.codes], len(old)), old


def _by_bits(digit: Digit) -> tuple[Digit, IntArray]:
    words = np.zeros(-(-digit.size // 64), dtype=np.uint64)
    before, ranks = np.empty(len(words), dtype=np.int64), np.empty_like(digit.codes)
    old = np.empty(rank_codes(digit.codes, words, before, ranks), dtype=np.int64)
    list_bits(words, old)
    return Digit(ranks, len(old)), old


def factorise(keys: pa.Table, rows: int) -> tuple[IntArray, IntArray]:
    """A number for each distinct row of keys, and some row of each number.

    Keys are compared as Spark compares them after grouping: NULL equals NULL and NaN equals
    NaN; Catalyst has already made -0.0 into 0.0.
    """
    digits = [_coded(flat(column)) for column in keys.columns]
    numbers = number_rows(digits[::-1], rows)
    return numbers.ids, numbers.rows


def _coded(column: pa.Array) -> Digit:
    # Hashing, not sorting: five times faster than np.unique on a million keys.
    coded = pc.dictionary_encode(column, null_encoding="encode")
    return Digit(coded.indices.to_numpy(), max(1, len(coded.dictionary)))
