"""Boxes: a conjunction of conditions, each on one column or one opaque expression.

An opaque condition is a line of its own with the points FALSE, TRUE and NULL, so conditions
that cannot be looked into obey the same algebra as columns.

A union of boxes has one canonical form, the set of all largest boxes inside it (the prime
implicants of logic design). They are found by consensus: two boxes that together fill a larger
one on some side give that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tidemill.plan.expressions import Scalar, Slot
from tidemill.plan.predicates.values import EVERYTHING, ValueSet

Dimension = Slot | Scalar
# Past this many boxes a condition is cheaper to evaluate than to reason about.
MOST_BOXES = 16
# On the way to few boxes there may be more of them.
_MOST_ON_THE_WAY = 4 * MOST_BOXES


class TooManyBoxesError(Exception):
    """The canonical form would be too large to be of use."""


@dataclass(frozen=True)
class Box:
    """A box: the values that each side allows, ordered by side; a side not named allows all."""

    sides: tuple[tuple[Dimension, ValueSet], ...] = ()

    @cached_property
    def by_dimension(self) -> Mapping[Dimension, ValueSet]:
        return dict(self.sides)

    def side(self, dimension: Dimension) -> ValueSet:
        return self.by_dimension.get(dimension, EVERYTHING)

    def contains(self, other: Box) -> bool:
        theirs = other.by_dimension
        return len(theirs) >= len(self.sides) and all(
            dimension in theirs and theirs[dimension] <= allowed
            for dimension, allowed in self.sides
        )

    def is_disjoint(self, other: Box) -> bool:
        theirs = other.by_dimension
        return any(
            dimension in theirs and theirs[dimension].is_disjoint(allowed)
            for dimension, allowed in self.sides
        )

    @property
    def order(self) -> tuple[Any, ...]:
        """A key to sort boxes by."""
        return tuple(
            (_name(dimension), allowed.starts_in, allowed.cuts, allowed.with_null)
            for dimension, allowed in self.sides
        )


def make_box(sides: Mapping[Dimension, ValueSet]) -> Box | None:
    """The box, or None if one of its sides allows nothing."""
    if any(allowed.is_empty for allowed in sides.values()):
        return None
    limits = [(dimension, allowed) for dimension, allowed in sides.items() if not allowed.is_all]
    return Box(tuple(sorted(limits, key=lambda side: _name(side[0]))))


def meet(left: Box, right: Box) -> Box | None:
    """The box of all rows that lie in both."""
    sides = dict(left.sides)
    for dimension, allowed in right.sides:
        sides[dimension] = sides.get(dimension, EVERYTHING) & allowed
    return make_box(sides)


def primes(boxes: Iterable[Box]) -> tuple[Box, ...]:
    """All largest boxes inside the union, in a fixed order."""
    largest: list[Box] = []
    waiting = list(boxes)
    while waiting:
        box = waiting.pop()
        if any(other.contains(box) for other in largest):
            continue
        largest = [other for other in largest if not box.contains(other)]
        waiting += [grown for other in largest for grown in _consensus(box, other)]
        largest.append(box)
        if len(largest) > _MOST_ON_THE_WAY:
            raise TooManyBoxesError
    if len(largest) > MOST_BOXES:
        raise TooManyBoxesError
    return tuple(sorted(largest, key=lambda box: box.order))


def _consensus(left: Box, right: Box) -> Iterator[Box]:
    """For each side, the box that spans both there and lies in both elsewhere."""
    for dimension in {**left.by_dimension, **right.by_dimension}:
        sides = dict(left.by_dimension)
        for other, allowed in right.sides:
            sides[other] = sides.get(other, EVERYTHING) & allowed
        sides[dimension] = left.side(dimension) | right.side(dimension)
        if (box := make_box(sides)) is not None:
            yield box


def without(box: Box, hole: Box) -> Iterator[Box]:
    """The rest of a box outside of another, in disjoint pieces."""
    sides = dict(box.sides)
    for dimension, allowed in hole.sides:
        left = sides.get(dimension, EVERYTHING)
        if (piece := make_box({**sides, dimension: left - allowed})) is not None:
            yield piece
        sides[dimension] = left & allowed


def _name(dimension: Dimension) -> tuple[bool, str]:
    if isinstance(dimension, Slot):
        return False, dimension.name
    return True, dimension.sql
