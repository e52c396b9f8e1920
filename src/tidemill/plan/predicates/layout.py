"""Where the boxes of all predicates lie in the words of a signature.

The first box of a predicate lies at its bit. Its further boxes lie at the same place of spare
words, which are OR-ed in afterwards: so nothing needs to be shifted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count

from tidemill.plan.predicates.boxes import Box, Dimension
from tidemill.plan.predicates.predicate import Predicate
from tidemill.plan.predicates.readings import WORD_BITS
from tidemill.plan.predicates.values import CutPoint, ValueSet
from tidemill.types import BOOLEAN


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
    """What one word allows in each stretch between cuts, and last for NULL."""
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
