"""Compiled loops over bitmaps: the ranks of codes among those that occur."""

from __future__ import annotations

from typing import Any

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled


@compiled
def rank_codes(codes: Array, words: Array, before: Array, ranks: Array) -> int:
    """The rank of each code among those that occur; `words` has a bit for every code there is.

    All bits are clear at first, and those of the codes set afterwards; a rank is the count of
    bits before, in the words `before` and in the code's own.
    """
    bit = np.uint64(1)
    for i in range(len(codes)):
        words[codes[i] >> 6] |= bit << np.uint64(codes[i] & 63)
    total = 0
    for w in range(len(words)):
        before[w] = total
        total += _bits(words[w])
    for i in range(len(codes)):
        lower = words[codes[i] >> 6] & ((bit << np.uint64(codes[i] & 63)) - bit)
        ranks[i] = before[codes[i] >> 6] + _bits(lower)
    return total


@compiled
def list_bits(words: Array, places: Array) -> None:
    """The places of all bits that are set, ascending."""
    count = 0
    for w in range(len(words)):
        word = words[w]
        while word:
            below = word & (~word + np.uint64(1))
            places[count] = w * 64 + _bits(below - np.uint64(1))
            word ^= below
            count += 1


@compiled
def _bits(word: Any) -> Any:
    """The number of bits set; compilers know this form and make one instruction of it."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
