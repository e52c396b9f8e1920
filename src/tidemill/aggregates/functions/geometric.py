"""The geometric mean: EXP(AVG(LN(x))), as Spark has its parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tidemill.aggregates.algebra import COUNT, FLOAT_SUM, Algebra
from tidemill.aggregates.columns import GroupedRows
from tidemill.aggregates.encoded import Encoded
from tidemill.aggregates.functions.base import Function, double, is_number, text_as_double
from tidemill.aggregates.lanes import Lane, NumberLane, PlainRow, PlainWindow
from tidemill.aggregates.lanes.base import known_values
from tidemill.aggregates.lowering import CombinedLanes, Numbers
from tidemill.arrays import Array, BoolArray
from tidemill.plan.functions import Signature
from tidemill.plan.query import AggregateCall
from tidemill.types import DOUBLE, Type


def _has_log(numbers: Array) -> BoolArray:
    """Flags of rows whose LN is not NULL. NaN is its own logarithm; a NULL stands here as zero."""
    found: BoolArray = ~(numbers <= 0)
    return found


def _plain_logs(rows: Sequence[PlainRow]) -> list[float]:
    return [math.log(value) for value in known_values(rows) if not value <= 0]


class LogSum(NumberLane):
    """The sum of the logarithms; NULL if no value has one."""

    kind: ClassVar[str] = "log_sum"

    @property
    def algebra(self) -> Algebra:
        return FLOAT_SUM

    @property
    def stored(self) -> Type:
        return DOUBLE

    @property
    def _reads_types(self) -> bool:
        return self.type.is_integer or self.type.is_float

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        return (f"SUM(LN({values[0]}))",)

    def lift_rows(self, rows: GroupedRows) -> Encoded:
        numbers = rows.column(self.subject).numbers
        known = _has_log(numbers)
        logs = np.log(np.where(known, numbers, 1))
        return self.combined(Encoded(logs, known), rows.groups, rows.count, rows.rows)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        logs = _plain_logs(rows)
        return (math.fsum(logs) if logs else None,)


class LogCount(NumberLane):
    """The number of values that have a logarithm."""

    kind: ClassVar[str] = "log_count"

    @property
    def algebra(self) -> Algebra:
        return COUNT

    @property
    def _reads_types(self) -> bool:
        return self.type.is_integer or self.type.is_float

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        return (f"COUNT(LN({values[0]}))",)

    def lift_rows(self, rows: GroupedRows) -> Encoded:
        known = _has_log(rows.column(self.subject).numbers)
        groups = rows.groups[known if rows.rows is None else known[rows.rows]]
        return Encoded(np.bincount(groups, minlength=rows.count), None)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        return (len(_plain_logs(rows)),)


class GeometricMean(Function):
    """Values up to zero have no logarithm and are left out; NULL if nothing is left."""

    signature: ClassVar[Signature] = Signature(
        "GEOMETRIC_MEAN", "numbers", is_number, double, text_as_double
    )

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return LogSum(call.argument), LogCount(call.argument)

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        of_sum, of_count = self.lanes(call)
        total, count = lanes.encoded(of_sum).values, lanes.counts(of_count)
        has_logs = count > 0
        # The largest doubles may come out a little larger: infinity, as in Spark.
        with np.errstate(over="ignore"):
            means = np.asarray(total / np.where(has_logs, count, 1), np.float64)
            return np.exp(means), has_logs, None

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        logs = _plain_logs(rows)
        return math.exp(math.fsum(logs) / len(logs)) if logs else None
