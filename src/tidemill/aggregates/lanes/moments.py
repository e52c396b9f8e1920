"""Count, mean and sum of squared deviations: what a variance is made of.

Two of them are combined by the formula of Chan, Golub and LeVeque, which never subtracts large
sums of squares. Nothing is ever taken out of a window again: after one 1e18 or one infinity,
later windows are as good as before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tidemill.aggregates.algebra import Algebra, CostFamily
from tidemill.aggregates.columns import GroupedRows
from tidemill.aggregates.elementwise import Elementwise, records
from tidemill.aggregates.encoded import Encoded, filled
from tidemill.aggregates.lanes.base import KernelLane, PlainRow, known_values
from tidemill.aggregates.loops.scatter import moments_at
from tidemill.arrays import Array, IntArray
from tidemill.compiling import compiled

DTYPE = np.dtype([("n", np.float64), ("mean", np.float64), ("m2", np.float64)])


class _MomentsCombine(Elementwise):
    """Values are put into their places one by one; nothing need be sorted."""

    def at(self, array: Any, indices: Any, values: Any, /) -> None:
        assert array.flags.c_contiguous, "a copy would be written to"
        _merge_at(_plain(array), np.asarray(indices), _plain(values))


def combine(left: Array, right: Array) -> Array:
    """The moments of both together.

    >>> one = np.array([(2.0, 1.5, 0.5)], DTYPE)
    >>> combine(one, one).tolist()
    [(4.0, 1.5, 1.0)]
    """
    both = np.array(left, DTYPE, order="C")
    _merge(_plain(both), _plain(right))
    return both


def _plain(records: Array) -> Array:
    """Records as rows of their three numbers; those that are one after another are not copied."""
    return np.ascontiguousarray(records).view(np.float64).reshape(-1, 3)


@compiled
def _merge(into: Array, more: Array) -> None:
    for row in range(len(into)):
        _add(into, row, more, row)


@compiled
def _merge_at(into: Array, place: Array, more: Array) -> None:
    for row in range(len(place)):
        _add(into, place[row], more, row)


@compiled
def _add(into: Array, at: int, more: Array, row: int) -> None:
    # Nothing beside something: the formula would make NaN of an infinite mean.
    if more[row, 0] == 0:
        return
    if into[at, 0] == 0:
        into[at] = more[row]
        return
    count = into[at, 0] + more[row, 0]
    apart, share = more[row, 1] - into[at, 1], more[row, 0] / count
    into[at, 2] += more[row, 2] + apart * apart * into[at, 0] * share
    into[at, 1] += apart * share
    into[at, 0] = count


MOMENTS = Algebra("moments", _MomentsCombine(combine), np.zeros((), DTYPE)[()])


class Moments(KernelLane):
    """The three of the values of each group; a count of zero where there are none."""

    kind: ClassVar[str] = "moments"
    cost_family: ClassVar[CostFamily] = CostFamily.RECORDS

    @property
    def algebra(self) -> Algebra:
        return MOMENTS

    @property
    def parts(self) -> tuple[str, ...]:
        return ("n", "mean", "m2")

    @property
    def part_types(self) -> tuple[pa.DataType, ...]:
        return tuple(pa.float64() for _ in self.parts)

    @property
    def _reads_types(self) -> bool:
        return self.type.is_integer or self.type.is_float

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        (value,) = values
        return f"COUNT({value})", f"AVG(DOUBLE({value}))", f"VAR_POP({value}) * COUNT({value})"

    def lift_rows(self, rows: GroupedRows) -> Encoded:
        column = rows.column(self.subject)
        n, mean, m2 = np.zeros(rows.count), np.zeros(rows.count), np.zeros(rows.count)
        places, groups = rows.valid_rows(column)
        moments_at(n, mean, m2, groups, column.numbers, places)
        return Encoded(records(DTYPE, n, mean, m2), None)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        numbers = [float(value) for value in known_values(rows)]
        if not numbers:
            return 0, None, None
        mean = math.fsum(numbers) / len(numbers)
        return len(numbers), mean, math.fsum((x - mean) ** 2 for x in numbers)

    def encode(self, arrays: Sequence[pa.Array]) -> Encoded:
        """A group without any value has none of the three but the count."""
        columns = (filled(array.cast(pa.float64())) for array in arrays)
        return Encoded(records(DTYPE, *columns), None)

    def decode(self, rows: Encoded) -> list[pa.Array]:
        return [pa.array(rows.values[name]) for name in self.parts]

    def absent(self, rows: int) -> Encoded:
        return Encoded(np.zeros(rows, DTYPE), None)

    def scaled(self, lane_rows: Encoded, weights: IntArray) -> Encoded:
        values = lane_rows.values
        with np.errstate(over="ignore"):
            n, m2 = values["n"] * weights, values["m2"] * weights
        return Encoded(records(DTYPE, n, values["mean"], m2), None)
