"""Lanes: the partial vector behind the aggregates.

A lane is one associative partial over one argument: rows, count, sum, min, max, moments, first,
last, counts of values or their weights, a sketch, or the state of an aggregate that a user has
written. Aggregates name the lanes they need, so SUM, COUNT and AVG of one expression keep two
lanes between them, not four, and all that counts of values can tell is told by one.

Each kind of lane is a class: how it is lifted from rows by Catalyst, on arrays and by a plain
loop, how it is stored, and how its rows are combined. Everything is called for whole columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tidemill.aggregates.algebra import COUNT, Algebra, CostFamily, combined_at, masked
from tidemill.aggregates.bags import Bags
from tidemill.aggregates.columns import GroupedRows
from tidemill.aggregates.encoded import Encoded, as_type, mask_out, numbers_of, valid_rows
from tidemill.aggregates.limbs import multiplied
from tidemill.aggregates.powers import power
from tidemill.arrays import Array, IntArray
from tidemill.catalog import Code
from tidemill.plan.expressions import Scalar, Value
from tidemill.types import BIGINT, Type

# The rows of a lane: a value for each of them, or a bag.
LaneArray = Encoded | Bags
# The time of a row and the value of each argument of a lane or call, as plain Python has them.
PlainRow = tuple[int, tuple[Any, ...]]
# Where a window begins and where it ends.
PlainWindow = tuple[int, int]

_KINDS: dict[str, type[Lane]] = {}


@dataclass(frozen=True)
class Lane(ABC):
    """One partial over its arguments. Lanes of one class with equal fields are equal.

    `others` are further arguments, `parameters` say how it is made, as the size of a sketch.
    `code` is there for the lane of an aggregate that a user has written.
    """

    argument: Scalar | None = None
    others: tuple[Scalar, ...] = ()
    parameters: tuple[Value, ...] = ()
    code: Code | None = None

    kind: ClassVar[str]  # how stored plans name the class
    cost_family: ClassVar[CostFamily]
    # A state has one entry, or one for each value that it has seen, up to so many.
    most_entries: ClassVar[float] = 1.0
    is_sketch: ClassVar[bool] = False
    counts_values: ClassVar[bool] = False  # its memory grows with the distinct values
    has_every_value: ClassVar[bool] = False  # with how often it is there
    can_be_scaled: ClassVar[bool] = True  # `scaled` is there for it

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            _KINDS[cls.kind] = cls

    @property
    def arguments(self) -> tuple[Scalar, ...]:
        return (*([self.argument] if self.argument else []), *self.others)

    @property
    def subject(self) -> Scalar:
        """The argument of a lane that has one."""
        assert self.argument is not None
        return self.argument

    @property
    def sql(self) -> str:
        words = [*(scalar.sql for scalar in self.arguments), *map(str, self.parameters)]
        return f"{self.code.name if self.code else self.kind}({', '.join(words) or '*'})"

    @property
    def type(self) -> Type:
        return self.argument.type if self.argument else BIGINT

    @property
    def subtractable(self) -> bool:
        """Whether a window is the difference of two running totals, however many slices it has."""
        return False

    @property
    def by_value(self) -> tuple[Scalar, ...]:
        """Arguments that Catalyst groups by, too: a partial row has one value of each."""
        return ()

    @property
    def lifts_arrays(self) -> bool:
        """True if `lift_rows` gives what Catalyst would."""
        return all(scalar.is_on_arrays for scalar in self.arguments) and self._reads_types

    @property
    @abstractmethod
    def parts(self) -> tuple[str, ...]:
        """Suffixes of the columns that carry the lane in partial rows."""

    @property
    @abstractmethod
    def part_types(self) -> tuple[pa.DataType, ...]:
        """The types of these columns."""

    @property
    def _reads_types(self) -> bool:
        """True if `lift_rows` takes columns of the arguments' types; if not, Catalyst lifts."""
        return False

    def derives_from(self, other: Lane) -> bool:
        """True if the other tells all that this lane would: the same, or within closer bounds.

        A lane that derives from a lane that derives from a third derives from the third, too.
        """
        return False

    def derived(self, source: Any) -> Any:
        """This lane of what the other has, of cells or of windows alike; a sketch as it is."""
        return source

    @abstractmethod
    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        """The Catalyst aggregates, one per part, over the columns of the arguments and the time."""

    def lift_rows(self, rows: GroupedRows) -> LaneArray:
        """The lane of each group, from arrays of rows; only where `lifts_arrays` says so."""
        raise NotImplementedError(f"arrays do not lift {self.sql}")

    @abstractmethod
    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        """The parts of one partial row, by a plain loop: the twin of the two other lifts."""

    @abstractmethod
    def encode(self, arrays: Sequence[pa.Array]) -> LaneArray:
        """The lane of some rows, from the columns named by `parts`, or those that a piece has."""

    @abstractmethod
    def decode(self, rows: Any) -> list[pa.Array]:
        """The columns that a piece has of the lane; `rows` are as `encode` makes them."""

    @abstractmethod
    def absent(self, rows: int) -> LaneArray:
        """The lane of rows from before it was kept."""

    @abstractmethod
    def combined(
        self, lane_rows: Any, place: Array, count: int, rows: Array | None = None
    ) -> LaneArray:
        """The rows, all or those named, combined at `place`, of `count` places."""

    @abstractmethod
    def scaled(self, lane_rows: Any, weights: IntArray) -> LaneArray:
        """Each row as so many of its like combined; every weight is at least one.

        Counts and sums have no end there: they become limbs where 64 bits might not hold all.
        """

    def nothing(self, rows: int) -> LaneArray:
        """The lane of rows without a value."""
        return self.absent(rows)


class KernelLane(Lane):
    """A lane whose windows a kernel combines."""

    @property
    @abstractmethod
    def algebra(self) -> Algebra:
        """The combine of two values, and its abilities."""

    @property
    def subtractable(self) -> bool:
        return self.algebra.subtractable

    def combined(
        self, lane_rows: Encoded, place: Array, count: int, rows: Array | None = None
    ) -> Encoded:
        return combined_at(self.algebra, lane_rows, place, count, rows)

    def scaled(self, lane_rows: Encoded, weights: IntArray) -> Encoded:
        if self.algebra.idempotent:
            return lane_rows
        values = masked(lane_rows.values, lane_rows.valid, self.algebra)
        return replace(lane_rows, values=power(self.algebra, values, weights))


class NumberLane(KernelLane):
    """A lane with one number for each row; a new one says its algebra and its lifts."""

    cost_family: ClassVar[CostFamily] = CostFamily.NUMBERS

    @property
    def stored(self) -> Type:
        """The type of its column."""
        return BIGINT

    @property
    def parts(self) -> tuple[str, ...]:
        return ("",)

    @property
    def part_types(self) -> tuple[pa.DataType, ...]:
        return (self.stored.arrow,)

    def lift_rows(self, rows: GroupedRows) -> Encoded:
        column = rows.column(self.subject)
        return self.combined(
            Encoded(column.numbers, column.valid), rows.groups, rows.count, rows.rows
        )

    def encode(self, arrays: Sequence[pa.Array]) -> Encoded:
        return Encoded(numbers_of(arrays[0]), valid_rows(arrays[0]))

    def decode(self, rows: Encoded) -> list[pa.Array]:
        return [mask_out(as_type(rows.zeroed, self.stored), rows.absent)]

    def scaled(self, lane_rows: Encoded, weights: IntArray) -> Encoded:
        if self.algebra.combine is not np.add:
            return super().scaled(lane_rows, weights)
        return replace(lane_rows, values=multiplied(lane_rows.zeroed, weights))

    def nothing(self, rows: int) -> LaneArray:
        """Of nothing there is a count, and no other number."""
        if self.algebra is COUNT:
            return Encoded(np.zeros(rows, np.int64), None)
        return super().nothing(rows)

    def absent(self, rows: int) -> Encoded:
        return self.encode([pa.nulls(rows, kind) for kind in self.part_types])


def lane_of_kind(
    kind: str,
    argument: Scalar | None = None,
    others: tuple[Scalar, ...] = (),
    parameters: tuple[Value, ...] = (),
    code: Code | None = None,
) -> Lane:
    """The lane that a stored plan names by its kind."""
    return _KINDS[kind](argument, others, parameters, code)


def known_values(rows: Sequence[PlainRow]) -> list[Any]:
    """The values of the first argument that are not NULL."""
    return [values[0] for _, values in rows if values[0] is not None]
