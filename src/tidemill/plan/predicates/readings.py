"""Which signatures a query reads: the rule that stands for its predicate.

A signature says of a row which bits hold. A predicate without a bit of its own is read from
the bits of others where it is, exactly, a conjunction of some of them without others, or a
disjunction of such terms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidemill.arrays import BoolArray, IntArray

WORD_BITS = 63  # of a signed 64-bit word; the sign is left alone
_WORD = (1 << WORD_BITS) - 1

Signatures = IntArray


@dataclass(frozen=True)
class Term:
    """Signatures with all bits of `must` and none of `forbid`."""

    must: int
    forbid: int = 0

    @property
    def bits(self) -> tuple[int, ...]:
        used = self.must | self.forbid
        return tuple(bit for bit in range(used.bit_length()) if used >> bit & 1)

    def matches(self, signatures: Signatures) -> BoolArray:
        matches = np.ones(len(signatures), dtype=np.bool_)
        for word in range(word_count(self.must | self.forbid)):
            must, forbid = (mask >> WORD_BITS * word & _WORD for mask in (self.must, self.forbid))
            matches &= signatures[:, word] & np.int64(must | forbid) == must
        return matches


@dataclass(frozen=True)
class Reading:
    """Signatures that match any of the terms; without terms none do."""

    terms: tuple[Term, ...]

    @property
    def bits(self) -> tuple[int, ...]:
        """The bits it looks at."""
        return tuple(sorted({bit for term in self.terms for bit in term.bits}))

    def matches(self, signatures: Signatures) -> BoolArray:
        """One flag per row of a (signatures × words) array."""
        matches = np.zeros(len(signatures), dtype=np.bool_)
        for term in self.terms:
            matches |= term.matches(signatures)
        return matches

    @property
    def needs_all(self) -> bool:
        """Whether rows that hold no bit at all may be read."""
        return any(term.must == 0 for term in self.terms)


ALL_ROWS = Reading((Term(0),))
NO_ROWS = Reading(())


def word_count(mask: int) -> int:
    """How many words it takes to hold the bits of a mask."""
    return -(-mask.bit_length() // WORD_BITS)


def has_bit(signatures: Signatures, bit: int) -> BoolArray:
    """Which signatures hold the bit."""
    word, place = divmod(bit, WORD_BITS)
    found: BoolArray = (signatures[:, word] >> place & 1).astype(np.bool_)
    return found


def set_bit(signatures: Signatures, bit: int, where: BoolArray) -> None:
    """Set the bit in the signatures marked, in place."""
    word, place = divmod(bit, WORD_BITS)
    signatures[:, word] |= where.astype(np.int64) << place
