"""The distinct values of each group: with how often each is there, or with the sum of another.

A partial row has one value with its count or its sum. In a piece a cell has lists: of values,
as codes into the piece's dictionary, and of what each weighs.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates import bags
from tidemill.aggregates.algebra import CostFamily
from tidemill.aggregates.bags import Bags
from tidemill.aggregates.columns import ColumnRows, GroupedRows, has_codes
from tidemill.aggregates.lanes.base import Lane, PlainRow, known_values
from tidemill.aggregates.lanes.totals import Sum
from tidemill.aggregates.limbs import multiplied, normalise, split_decimal, split_int64, to_decimal
from tidemill.aggregates.loops.bags import merge
from tidemill.aggregates.powers import multiplied_counts
from tidemill.arrays import Array, IntArray
from tidemill.plan.expressions import Scalar
from tidemill.plan.functions.decimals import sum_type


class BagLane(Lane):
    """A lane of bags; Catalyst groups by the value, too."""

    cost_family: ClassVar[CostFamily] = CostFamily.VALUES
    counts_values: ClassVar[bool] = True
    most_entries: ClassVar[float] = math.inf

    @property
    def by_value(self) -> tuple[Scalar, ...]:
        return self.arguments[:1]

    @property
    def _reads_types(self) -> bool:
        return has_codes(self.type) or self.type.is_float

    @property
    @abstractmethod
    def _no_weights(self) -> Array:
        """The weights of no entries: a row for each number that makes up a weight."""

    @abstractmethod
    def _read_weights(self, columns: Sequence[pa.Array]) -> Array:
        """Weights from the columns after the first."""

    @abstractmethod
    def _row_weights(self, rows: GroupedRows) -> Array:
        """The weight of each row of the chunk."""

    def lift_rows(self, rows: GroupedRows) -> Bags:
        """Of each row of the chunk the one value, with its weight; none without either."""
        columns = [rows.column(scalar) for scalar in self.arguments]
        distinct, weights = columns[0].distinct, self._row_weights(rows)
        single = bags.from_codes(distinct.digit.codes, distinct.values, weights)
        end = single.begin + _is_valid(columns)
        single = Bags(single.begin, end, single.codes, weights, single.dictionary)
        return self.combined(single, rows.groups, rows.count, rows.rows)

    def encode(self, arrays: Sequence[pa.Array]) -> Bags:
        values, *weights = arrays
        if pa.types.is_list(values.type):
            return bags.from_lists(values, weights, self._read_weights)
        # What has no weight is not there, as what has no value.
        weighed = pc.if_else(pc.is_valid(weights[0]), values, pa.scalar(None, values.type))
        return bags.from_rows(weighed, self._read_weights(weights))

    def decode(self, rows: Bags) -> list[pa.Array]:
        whole = rows.compact()
        return bags.to_lists(whole, self._weight_columns(whole.weights))

    def _weight_columns(self, weights: Array) -> list[pa.Array]:
        short = (row if row.dtype.kind == "f" else bags.shortest(row) for row in weights)
        return [pa.array(np.ascontiguousarray(row)) for row in short]

    def absent(self, rows: int) -> Bags:
        return bags.none(rows, self.type.arrow, self._no_weights)

    def combined(
        self, lane_rows: Bags, place: Array, count: int, rows: Array | None = None
    ) -> Bags:
        rows = np.arange(len(place)) if rows is None else rows
        entries = lane_rows.begin, lane_rows.end, lane_rows.codes, lane_rows.weights
        size = len(lane_rows.dictionary)
        first, codes, weights = merge(rows, place, count, *entries, size)
        return Bags(first[:-1], first[1:], codes, _carried(weights), lane_rows.dictionary)

    def scaled(self, lane_rows: Bags, weights: IntArray) -> Bags:
        whole = lane_rows.compact()
        return replace(whole, weights=self._scaled_weights(whole, weights))

    @abstractmethod
    def _scaled_weights(self, whole: Bags, weights: IntArray) -> Array:
        """The weights of all entries, times those of their cells."""


class Counts(BagLane):
    """Each value with how often it is there."""

    kind: ClassVar[str] = "counts"
    has_every_value: ClassVar[bool] = True

    @property
    def parts(self) -> tuple[str, ...]:
        return ("value", "count")

    @property
    def part_types(self) -> tuple[pa.DataType, ...]:
        return self.type.arrow, pa.int64()

    @property
    def _no_weights(self) -> Array:
        return np.zeros((1, 0), np.int64)

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        return f"ANY_VALUE({values[0]})", f"COUNT({values[0]})"

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        values = known_values(rows)
        return next(iter(values), None), len(values)

    def _read_weights(self, columns: Sequence[pa.Array]) -> Array:
        return _numbers(columns, np.int64)

    def _row_weights(self, rows: GroupedRows) -> Array:
        return np.ones((1, len(rows.chunk)), np.int64)

    def _scaled_weights(self, whole: Bags, weights: IntArray) -> Array:
        weights, sizes = (np.repeat(by_cell, whole.sizes) for by_cell in (weights, whole.sizes))
        return multiplied_counts(whole.weights[0], weights, sizes)[None]


class Weights(BagLane):
    """Each value with the sum of another argument over its rows."""

    kind: ClassVar[str] = "weights"

    @property
    def summed(self) -> Sum:
        """The sum that is the weight of each value."""
        return Sum(self.others[0])

    @property
    def parts(self) -> tuple[str, ...]:
        return ("value", *(f"sum{part}" for part in self.summed.parts))

    @property
    def part_types(self) -> tuple[pa.DataType, ...]:
        return self.type.arrow, *self.summed.part_types

    @property
    def _reads_types(self) -> bool:
        return super()._reads_types and self.summed.lifts_arrays

    @property
    def _no_weights(self) -> Array:
        limbs = 4 if self.summed.type.is_decimal else len(self.summed.parts)
        return np.zeros((limbs, 0), self._dtype)

    @property
    def _dtype(self) -> Any:
        return np.float64 if self.summed.type.is_float else np.int64

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        return f"ANY_VALUE({values[0]})", *self.summed.lift_sql(values[1:], time)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        weights = [(time_us, values[1:]) for time_us, values in rows]
        return next(iter(known_values(rows)), None), *self.summed.lift_plain(weights)

    def _read_weights(self, columns: Sequence[pa.Array]) -> Array:
        if self.summed.type.is_decimal:
            return np.ascontiguousarray(split_decimal(columns[0]).T)
        return _numbers(columns, self._dtype)

    def _row_weights(self, rows: GroupedRows) -> Array:
        numbers = rows.column(self.others[0]).numbers
        if self.summed.in_halves:
            return np.ascontiguousarray(split_int64(numbers).T)
        return numbers[None]

    def _scaled_weights(self, whole: Bags, weights: IntArray) -> Array:
        times, limbs = np.repeat(weights, whole.sizes), whole.weights
        numbers = limbs[0] if len(limbs) == 1 else np.ascontiguousarray(limbs.T)
        scaled = multiplied(numbers, times)
        return scaled[None] if scaled.ndim == 1 else np.ascontiguousarray(scaled.T)

    def _weight_columns(self, weights: Array) -> list[pa.Array]:
        if self.summed.type.is_decimal:
            wide = sum_type(self.summed.type)
            return [to_decimal(weights.T, wide.precision, wide.scale)]
        return super()._weight_columns(weights)


def _is_valid(columns: Sequence[ColumnRows]) -> Any:
    """One for rows where all columns have a value, else zero."""
    valid = [column.valid for column in columns if column.valid is not None]
    return np.logical_and.reduce(valid) if valid else 1


def _numbers(columns: Sequence[pa.Array], dtype: Any) -> Array:
    rows = [pc.fill_null(column, 0) for column in columns]
    numbers = [np.asarray(row.to_numpy(zero_copy_only=False), dtype) for row in rows]
    return _carried(np.stack(numbers))


def _carried(weights: Array) -> Array:
    """Limbs with carries moved up; single numbers are as they are."""
    if len(weights) == 1:
        return weights
    return np.ascontiguousarray(normalise(weights.T).T)
