"""A predicate in canonical form, and what can be said about two of them.

Nothing said is wrong; where opaque conditions are involved it may be less than the truth,
since they are taken to be independent of everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tidemill.plan.expressions import Slot
from tidemill.plan.predicates.boxes import Box, Dimension, make_box, meet, primes, without
from tidemill.plan.predicates.values import ValueSet
from tidemill.plan.predicates.wording import word_boxes
from tidemill.plan.scalar import Scalar

# Pieces looked at before a question of covering is given up as unanswered.
_MOST_PIECES = 2000


@dataclass(frozen=True)
class Predicate:
    """The rows of a union of boxes; the boxes are all largest ones, so equal means equal."""

    boxes: tuple[Box, ...]

    @property
    def is_true(self) -> bool:
        return self == TRUE

    @property
    def is_false(self) -> bool:
        return self == FALSE

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Every column and opaque condition that is looked at, each once."""
        return tuple(dict.fromkeys(dim for box in self.boxes for dim, _ in box.sides))

    @property
    def residuals(self) -> tuple[Scalar, ...]:
        """The opaque conditions."""
        return tuple(dim for dim in self.dimensions if isinstance(dim, Scalar))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column it takes to evaluate the predicate, by name."""
        own = [dim.name for dim in self.dimensions if isinstance(dim, Slot)]
        inner = [name for residual in self.residuals for name in residual.columns]
        return tuple(sorted({*own, *inner}))

    @cached_property
    def sql(self) -> str:
        """Readable text, true for the same rows."""
        return word_boxes(self.boxes)

    def contains(self, other: Predicate) -> bool:
        """Whether every row of the other is surely a row of this one."""
        return all(any(mine.contains(box) for mine in self.boxes) for box in other.boxes)

    def is_disjoint(self, other: Predicate) -> bool:
        """Whether surely no row belongs to both."""
        return all(mine.is_disjoint(box) for mine in self.boxes for box in other.boxes)

    def __and__(self, other: Predicate) -> Predicate:
        """May raise `TooManyBoxesError`."""
        both = (meet(mine, box) for mine in self.boxes for box in other.boxes)
        return Predicate(primes(box for box in both if box is not None))

    def __or__(self, other: Predicate) -> Predicate:
        """May raise `TooManyBoxesError`."""
        return Predicate(primes((*self.boxes, *other.boxes)))

    def __str__(self) -> str:
        return self.sql


TRUE = Predicate((Box(),))
FALSE = Predicate(())


def where(dimension: Dimension, allowed: ValueSet) -> Predicate:
    """The rows whose value on one dimension is allowed."""
    box = make_box({dimension: allowed})
    return FALSE if box is None else Predicate((box,))


def is_covered(boxes: Iterable[Box], covers: Sequence[Box]) -> bool:
    """Whether the boxes surely lie in the union of the covers."""
    waiting = list(boxes)
    for _ in range(_MOST_PIECES):
        if not waiting:
            return True
        piece = waiting.pop()
        cover = next((each for each in covers if not each.is_disjoint(piece)), None)
        if cover is None:
            return False
        waiting += without(piece, cover)
    return False
