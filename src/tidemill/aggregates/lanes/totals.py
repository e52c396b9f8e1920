"""Counts of rows and values, and sums: exact of integers, and in Spark's digits of decimals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tidemill.aggregates.algebra import (
    COUNT,
    FLOAT_SUM,
    INTEGER_SUM,
    Algebra,
    combine_masked,
    masked,
)
from tidemill.aggregates.bags import ValueCounts
from tidemill.aggregates.columns import GroupedRows, has_numbers
from tidemill.aggregates.encoded import Encoded, mask_out, numbers_of, valid_rows
from tidemill.aggregates.lanes.base import Lane, NumberLane, PlainRow, known_values
from tidemill.aggregates.limbs import fitted, normalise, split_decimal, summable, to_decimal
from tidemill.arrays import Array
from tidemill.plan.functions.decimals import sum_type
from tidemill.types import BIGINT, DOUBLE, Type


class RowsLane(NumberLane):
    """The number of rows."""

    kind: ClassVar[str] = "rows"

    @property
    def algebra(self) -> Algebra:
        return COUNT

    @property
    def _reads_types(self) -> bool:
        return True

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        return ("COUNT(*)",)

    def lift_rows(self, rows: GroupedRows) -> Encoded:
        return Encoded(np.bincount(rows.groups, minlength=rows.count), None)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        return (len(rows),)


class Count(NumberLane):
    """The number of rows with a value."""

    kind: ClassVar[str] = "count"

    def derives_from(self, other: Lane) -> bool:
        return other.has_every_value and other.arguments == self.arguments

    def derived(self, source: ValueCounts) -> Encoded:
        return Encoded(source.total(), None)

    @property
    def algebra(self) -> Algebra:
        return COUNT

    @property
    def _reads_types(self) -> bool:
        return has_numbers(self.type) or self.type.is_float

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        return (f"COUNT({values[0]})",)

    def lift_rows(self, rows: GroupedRows) -> Encoded:
        groups = rows.known_groups(rows.column(self.subject))
        return Encoded(np.bincount(groups, minlength=rows.count), None)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        return (len(known_values(rows)),)


ROWS = RowsLane()


_LOW_HALF = 0xFFFFFFFF


class Sum(NumberLane):
    """The sum of the values; NULL of none.

    Integer sums must be exact, and Spark's BIGINT sum raises when it overflows; the
    two halves of a BIGINT add up without overflow for 2^31 rows of one slice.
    """

    kind: ClassVar[str] = "sum"

    @property
    def algebra(self) -> Algebra:
        return FLOAT_SUM if self.type.is_float else INTEGER_SUM

    @property
    def in_halves(self) -> bool:
        """True if partial rows have the low and the high halves of the values apart."""
        return self.type == BIGINT

    @property
    def stored(self) -> Type:
        if self.type.is_decimal:
            return sum_type(self.type)
        return DOUBLE if self.type.is_float else BIGINT

    @property
    def parts(self) -> tuple[str, ...]:
        return ("lo", "hi") if self.in_halves else ("",)

    @property
    def part_types(self) -> tuple[pa.DataType, ...]:
        return tuple(self.stored.arrow for _ in self.parts)

    @property
    def _reads_types(self) -> bool:
        return self.type.is_integer or self.type.is_float

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        (value,) = values
        if self.in_halves:
            return (f"SUM({value} & 4294967295L)", f"SUM(SHIFTRIGHT({value}, 32))")
        if self.type.is_decimal:
            return (f"TRY_SUM({value})",)
        return (f"SUM(CAST({value} AS {self.stored.sql}))",)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        values = known_values(rows)
        if not values:
            return tuple(None for _ in self.parts)
        if self.in_halves:
            return sum(v & _LOW_HALF for v in values), sum(v >> 32 for v in values)
        return (sum(values),)

    def encode(self, arrays: Sequence[pa.Array]) -> Encoded:
        """Of sums that fit 64 bits the first column may be all there is."""
        valid = valid_rows(arrays[0])
        if self.type.is_decimal:
            return Encoded(np.asarray(split_decimal(arrays[0])), valid)
        if len(arrays) == 2:
            halves = np.stack([numbers_of(array) for array in arrays], axis=1)
            return Encoded(fitted(normalise(halves)), valid)
        return super().encode(arrays)

    def decode(self, rows: Encoded) -> list[pa.Array]:
        """The columns as the lift made them, or one alone if each row fits 64 bits."""
        if rows.values.ndim == 1:
            return super().decode(rows)
        limbs = rows.zeroed
        if self.type.is_decimal:
            wide = self.stored
            return [mask_out(to_decimal(limbs, wide.precision, wide.scale), rows.absent)]
        columns = (pa.array(limbs[:, part]) for part in range(limbs.shape[1]))
        return [mask_out(column, rows.absent) for column in columns]

    def combined(
        self, lane_rows: Encoded, place: Array, count: int, rows: Array | None = None
    ) -> Encoded:
        values = masked(lane_rows.values, lane_rows.valid, self.algebra)
        if self.in_halves:
            # Nearly always any sum of the rows fits 64 bits.
            values = summable(values)
        return combine_masked(self.algebra, values, lane_rows, place, count, rows)


class Overflow(NumberLane):
    """The number of times that a decimal sum of a slice had more digits than there are."""

    kind: ClassVar[str] = "overflow"

    @property
    def algebra(self) -> Algebra:
        return COUNT

    @property
    def sum(self) -> Sum:
        """The sum that has no digits left."""
        return Sum(self.argument)

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        (value,) = values
        return (f"CAST(TRY_SUM({value}) IS NULL AND COUNT({value}) > 0 AS BIGINT)",)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        values = known_values(rows)
        digits = self.sum.stored.precision - self.sum.stored.scale
        return (int(bool(values) and abs(sum(values)) >= 10**digits),)
