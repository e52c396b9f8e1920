"""How windows without a slide meet row by row in one query: each result leaves once.

Each stream in FROM is a side. Its rows are held under the join key, in the parts of the query:
row queries over one source whose first columns are the key. A result is what one row of each
side gives together.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidemill.plan.expressions import Node, Slot
from tidemill.plan.query import Output
from tidemill.types import TIMESTAMP, Type

# When a result came or went; when it will go; when it came.
RESULT_TIME = Slot("event_time", TIMESTAMP)
EXPIRES, SINCE = Slot("expires", TIMESTAMP), Slot("since", TIMESTAMP)


def bounds_of(goes: bool) -> tuple[Slot, Slot]:
    """The columns before those of the list, of results that go or that come."""
    return RESULT_TIME, SINCE if goes else EXPIRES


@dataclass(frozen=True)
class RowSide:
    """One window of the join."""

    name: str  # as the query calls it
    range_us: int
    parts: tuple[int, ...]  # places among the parts of the query, one for each branch


@dataclass(frozen=True)
class RowSlot:
    """A value of a result: a column of the parts of a side."""

    slot: Slot
    side: int
    column: int


@dataclass(frozen=True)
class RowJoin:
    """What a query says of its results; `goes` if they leave as they go, and not as they come."""

    key: tuple[Type, ...]  # what the join keys of all sides are widened to
    sides: tuple[RowSide, ...]
    slots: tuple[RowSlot, ...]
    outputs: tuple[Output, ...]
    conditions: tuple[Node, ...] = ()  # on results, over the slots
    goes: bool = False

    @property
    def bounds(self) -> tuple[Slot, Slot]:
        """The columns before those of the list."""
        return bounds_of(self.goes)

    @property
    def longest_us(self) -> int:
        return max(side.range_us for side in self.sides)

    def range_us(self, part: int) -> int:
        """The length of the window that has the rows of a part."""
        return next(side.range_us for side in self.sides if part in side.parts)
