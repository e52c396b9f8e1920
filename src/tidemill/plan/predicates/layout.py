"""Where the boxes of all predicates lie in the words of a signature.

The first box of a predicate lies at its bit. Its further boxes lie at the same place of spare
words, which are OR-ed in afterwards: so nothing needs to be shifted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from tidemill.plan.predicates.boxes import Box, Dimension
from tidemill.plan.predicates.predicate import Predicate
from tidemill.plan.predicates.readings import WORD_BITS
from tidemill.plan.predicates.values import EVERYTHING, Cut, ValueSet


@dataclass(frozen=True)
class Placed:
    """A box at one place of one word; `target` is the word of its predicate's bit."""

    box: Box
    word: int
    mask: int
    target: int


@dataclass(frozen=True)
class Layout:
    """Every box in its place; words from `words` on are spare."""

    words: int
    placed: tuple[Placed, ...]

    @property
    def all_words(self) -> int:
        return max((each.word + 1 for each in self.placed), default=self.words)

    def in_word(self, word: int) -> list[Placed]:
        return [each for each in self.placed if each.word == word]

    def spare_masks(self, target: int) -> dict[int, int]:
        """For each spare word, which of its bits belong to the target word."""
        masks: dict[int, int] = {}
        for each in self.placed:
            if each.target == target and each.word != target:
                masks[each.word] = masks.get(each.word, 0) | each.mask
        return masks

    def dimensions(self) -> tuple[Dimension, ...]:
        sides = (dimension for each in self.placed for dimension, _ in each.box.sides)
        return tuple(dict.fromkeys(sides))

    def cuts(self, dimension: Dimension) -> tuple[Cut, ...]:
        """All points at which any box changes its mind."""
        sets = (each.box.side(dimension) for each in self.placed)
        return tuple(sorted({cut for allowed in sets for cut in allowed.cuts}))


def lay_out(bits: Mapping[int, Predicate]) -> Layout:
    words = max(bits, default=-1) // WORD_BITS + 1
    placed: list[Placed] = []
    occupied: set[tuple[int, int]] = set()
    for bit in sorted(bits):
        target, mask = bit // WORD_BITS, 1 << bit % WORD_BITS
        places = _places(target, words)
        for box in bits[bit].boxes:
            word = next(word for word in places if (word, mask) not in occupied)
            occupied.add((word, mask))
            placed.append(Placed(box, word, mask, target))
    return Layout(words, tuple(placed))


def _places(target: int, words: int) -> Iterator[int]:
    yield target
    yield from count(words)


def mask_table(placed: list[Placed], dimension: Dimension, cuts: tuple[Cut, ...]) -> list[int]:
    """What one word allows in each stretch between cuts, and last for NULL."""
    masks = [0] * (len(cuts) + 2)
    for each in placed:
        for place, allowed in enumerate(_allowed(each.box.side(dimension), cuts)):
            masks[place] |= each.mask if allowed else 0
    return masks


def _allowed(side: ValueSet, cuts: tuple[Cut, ...]) -> Iterator[bool]:
    inside, changes = side.starts_in, set(side.cuts)
    yield inside
    for cut in cuts:
        inside ^= cut in changes
        yield inside
    yield side.with_null


def restricts(placed: list[Placed], dimension: Dimension) -> bool:
    return any(each.box.side(dimension) != EVERYTHING for each in placed)
