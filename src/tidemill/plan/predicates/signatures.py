"""Signatures: the words in which every predicate's boxes have their bits, and who reads which.

The first box of a predicate lies at its bit. Its further boxes lie at the same place of spare
words, which are OR-ed in afterwards: so nothing needs to be shifted.

A signature says of a row which bits hold. A predicate without a bit of its own is read from
the bits of others where it is, exactly, a conjunction of some of them without others, or a
disjunction of such terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from typing import Protocol

import numpy as np

from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.predicates.boxes import Box, Dimension
from tidemill.plan.predicates.predicate import Predicate
from tidemill.plan.predicates.values import CutPoint, ValueSet
from tidemill.types import BOOLEAN

WORD_BITS = 63  # of a signed 64-bit word; the sign is left alone
_WORD = (1 << WORD_BITS) - 1

SignatureWords = IntArray  # a row of words for each signature


@dataclass(frozen=True)
class Term:
    """Signatures with all bits of `must` and none of `forbid`."""

    must: int
    forbid: int = 0

    @property
    def bits(self) -> tuple[int, ...]:
        used = self.must | self.forbid
        return tuple(bit for bit in range(used.bit_length()) if used >> bit & 1)

    def matches(self, signatures: SignatureWords) -> BoolArray:
        matches = np.ones(len(signatures), dtype=np.bool_)
        for word, looked_at, must in self._by_word:
            matches &= signatures[:, word] & looked_at == must
        return matches

    @cached_property
    def _by_word(self) -> tuple[tuple[int, np.int64, np.int64], ...]:
        """Of each word that has a bit of the term: its place, all bits looked at, those to hold."""
        masks = (
            (word, *(mask >> WORD_BITS * word & _WORD for mask in (self.must, self.forbid)))
            for word in range(word_count(self.must | self.forbid))
        )
        return tuple(
            (word, np.int64(must | forbid), np.int64(must))
            for word, must, forbid in masks
            if must | forbid
        )


class AnyReading(Protocol):
    """What says of signatures whether their cells are read."""

    def matches(self, signatures: SignatureWords) -> BoolArray:
        """One flag per row of a (signatures × words) array."""


@dataclass(frozen=True)
class Reading:
    """Signatures that match any of the terms; without terms none do."""

    terms: tuple[Term, ...]

    @property
    def bits(self) -> tuple[int, ...]:
        """The bits it looks at."""
        return tuple(sorted({bit for term in self.terms for bit in term.bits}))

    def matches(self, signatures: SignatureWords) -> BoolArray:
        """One flag per row of a (signatures × words) array."""
        matches = np.zeros(len(signatures), dtype=np.bool_)
        for term in self.terms:
            matches |= term.matches(signatures)
        return matches

    @property
    def needs_all(self) -> bool:
        """True if rows that hold no bit at all may be read."""
        return any(term.must == 0 for term in self.terms)


ALL_ROWS = Reading((Term(0),))
NO_ROWS = Reading(())


def word_count(mask: int) -> int:
    """The number of words that hold the bits of a mask."""
    return -(-mask.bit_length() // WORD_BITS)


def has_bit(signatures: SignatureWords, bit: int) -> BoolArray:
    """Flags of the signatures that hold the bit."""
    word, place = divmod(bit, WORD_BITS)
    found: BoolArray = (signatures[:, word] >> place & 1).astype(np.bool_)
    return found


def have_bits(signatures: SignatureWords, bits: Sequence[int]) -> BoolArray:
    """Flags of the signatures that hold each of the bits, a column for each."""
    words, places = np.divmod(np.array(bits, np.int64), WORD_BITS)
    flags: BoolArray = (signatures[:, words] >> places & 1).astype(np.bool_)
    return flags


def set_bit(signatures: SignatureWords, bit: int, where: BoolArray) -> None:
    """Set the bit in the signatures marked, in place."""
    word, place = divmod(bit, WORD_BITS)
    signatures[:, word] |= where.astype(np.int64) << place


@dataclass(frozen=True)
class Placed:
    """A box at one place of one word; `target` is the word of its predicate's bit."""

    box: Box
    word: int
    mask: int
    target: int


@dataclass(frozen=True)
class MaskLayout:
    """Every box in its place; words from `words` on are spare."""

    words: int
    placed: tuple[Placed, ...]

    @cached_property
    def _by_word(self) -> dict[int, list[Placed]]:
        found: dict[int, list[Placed]] = {}
        for each in self.placed:
            found.setdefault(each.word, []).append(each)
        return found

    @cached_property
    def _words_of(self) -> dict[Dimension, set[int]]:
        words: dict[Dimension, set[int]] = {}
        for bit in self.placed:
            for dimension, _ in bit.box.sides:
                words.setdefault(dimension, set()).add(bit.word)
        return words

    def in_word(self, word: int) -> list[Placed]:
        return self._by_word.get(word, [])

    def dimensions(self) -> tuple[Dimension, ...]:
        """Everything that any box restricts."""
        return tuple(self._words_of)

    def restricted_words(self, dimension: Dimension) -> list[int]:
        """The words with a box that restricts the dimension."""
        return sorted(self._words_of[dimension])

    def spare_masks(self, target: int) -> dict[int, int]:
        """For each spare word, which of its bits belong to the target word."""
        masks: dict[int, int] = {}
        for bit in self.placed:
            if bit.target == target and bit.word != target:
                masks[bit.word] = masks.get(bit.word, 0) | bit.mask
        return masks

    def cuts(self, dimension: Dimension) -> tuple[CutPoint, ...]:
        """All points at which any box changes its mind; of a truth value there is one."""
        if dimension.type == BOOLEAN:
            return (1,)
        sets = (each.box.side(dimension) for each in self.placed)
        return tuple(sorted({cut for allowed in sets for cut in allowed.cuts}))


def lay_out_masks(bits: Mapping[int, Predicate]) -> MaskLayout:
    """Places for the boxes of all predicates."""
    words = max(bits, default=-1) // WORD_BITS + 1
    placed: list[Placed] = []
    occupied: set[tuple[int, int]] = set()
    for bit in sorted(bits):
        target, mask = bit // WORD_BITS, 1 << bit % WORD_BITS
        for box in bits[bit].boxes:
            places = chain([target], count(words))
            word = next(word for word in places if (word, mask) not in occupied)
            occupied.add((word, mask))
            placed.append(Placed(box, word, mask, target))
    return MaskLayout(words, tuple(placed))


def mask_table(placed: list[Placed], dimension: Dimension, cuts: tuple[CutPoint, ...]) -> list[int]:
    """The mask of one word for each stretch between cuts, and last for NULL."""
    masks = [0] * (len(cuts) + 2)
    for bit in placed:
        for place, allowed in enumerate(_allowed(bit.box.side(dimension), cuts)):
            masks[place] |= bit.mask if allowed else 0
    return masks


def _allowed(side: ValueSet, cuts: tuple[CutPoint, ...]) -> Iterator[bool]:
    inside, changes = side.starts_in, set(side.cuts)
    yield inside
    for cut in cuts:
        inside ^= cut in changes
        yield inside
    yield side.with_null
