"""COUNT, SUM and AVG, over the types and with the results that Spark has."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import reduce
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tidemill.aggregates.encoded import Encoded, mask_out
from tidemill.aggregates.functions.base import (
    Function,
    bigint,
    is_any,
    is_number,
    is_plain,
    text_as_double,
)
from tidemill.aggregates.lanes import (
    ROWS,
    Count,
    Counts,
    Lane,
    Overflow,
    PlainRow,
    PlainWindow,
    Sum,
)
from tidemill.aggregates.lanes.base import known_values
from tidemill.aggregates.limbs import split_int64, to_decimal, to_float, to_int64
from tidemill.aggregates.lowering import CombinedLanes, Lowered, Numbers
from tidemill.aggregates.plain import sort_key, unsigned_zero
from tidemill.arrays import Array, BoolArray
from tidemill.plan.functions import Signature
from tidemill.plan.functions.decimals import MAX_DIGITS, SUM_DIGITS, sum_type
from tidemill.plan.query import AggregateCall
from tidemill.types import BIGINT, DOUBLE, Type


class CountFunction(Function):
    """COUNT(*) has no argument."""

    signature: ClassVar[Signature] = Signature("COUNT", "any values", is_any, bigint)

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (ROWS if call.argument is None else Count(call.argument),)

    def may_raise(self, call: AggregateCall) -> bool:
        return False

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        (lane,) = self.lanes(call)
        return _whole_numbers(lanes.encoded(lane))

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        return sum(None not in values for _, values in rows)


class CountDistinct(Function):
    """All NaN are one value, and so are the zeros."""

    signature: ClassVar[Signature] = Signature(
        "COUNT_DISTINCT", "plain values", is_plain, bigint, shown="COUNT(DISTINCT x)"
    )
    sibling: ClassVar[str] = "APPROX_COUNT_DISTINCT"

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (Counts(call.argument),)

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        return lanes.bags(Counts(call.argument)).distinct(), None, None

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        return len({sort_key(unsigned_zero(value)) for _, (value,) in rows if value is not None})


# Spark divides decimals to 39 places first, then rounds to the scale of the result.
_DIVISION_PLACES = Decimal(1).scaleb(-39)
_WIDE = Context(prec=120, rounding=ROUND_HALF_UP)


def _argument_type(call: AggregateCall) -> Type:
    assert call.argument is not None
    return call.argument.type


def _total_type(argument: Type) -> Type:
    if argument.is_decimal:
        return sum_type(argument)
    return BIGINT if argument.is_integer else DOUBLE


def _mean_type(argument: Type) -> Type:
    if not argument.is_decimal:
        return DOUBLE
    digits = min(MAX_DIGITS, argument.precision + 4)
    return Type("DECIMAL", digits, min(MAX_DIGITS, argument.scale + 4))


class SumFunction(Function):
    """NULL of nothing; where a BIGINT or decimal has no room for it, Spark would have raised."""

    signature: ClassVar[Signature] = Signature(
        "SUM", "numbers", is_number, _total_type, text_as_double
    )

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        if _argument_type(call).is_decimal:
            return _decimal_lanes(call)
        return (Sum(call.argument),)

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        return _whole_numbers(lanes.encoded(Sum(call.argument)))

    def lower(self, call: AggregateCall, lanes: CombinedLanes) -> Lowered:
        sums, _, gone, raised = _decimal_sums(call, lanes)
        return mask_out(sums, gone), raised

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        values = known_values(rows)
        if not values:
            return None
        total = _plain_total(values)
        if call.slot.type == BIGINT:
            return total if -(2**63) <= total < 2**63 else None
        return _fitting(total, call.slot.type) if isinstance(total, Decimal) else total


def _whole_numbers(lane: Encoded) -> Numbers:
    """As BIGINT has them; what is beyond it raises."""
    if lane.values.ndim == 1:
        return lane.values, lane.valid, None
    values, overflow = to_int64(lane.values)
    raised = overflow if lane.valid is None else overflow & lane.valid
    return values, ~raised if lane.valid is None else lane.valid & ~raised, raised


class AverageFunction(Function):
    """The sum through the count."""

    signature: ClassVar[Signature] = Signature(
        "AVG", "numbers", is_number, _mean_type, text_as_double
    )
    synonyms: ClassVar[tuple[str, ...]] = ("MEAN",)

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        if _argument_type(call).is_decimal:
            return _decimal_lanes(call)
        return Sum(call.argument), Count(call.argument)

    def may_raise(self, call: AggregateCall) -> bool:
        return _argument_type(call).is_decimal

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        total, counts = lanes.encoded(Sum(call.argument)), lanes.counts(Count(call.argument))
        sums = to_float(total.values) if total.values.ndim == 2 else total.values
        empty = counts == 0
        if not empty.any():
            return sums / counts, None, None
        return sums / np.where(empty, 1, counts), ~empty, None

    def lower(self, call: AggregateCall, lanes: CombinedLanes) -> Lowered:
        sums, counts, is_null, raised = _decimal_sums(call, lanes)
        result = call.slot.type
        unit = Decimal(1).scaleb(-result.scale)
        limit = Decimal(10) ** (result.precision - result.scale)
        means = [
            None if none else _divide(total, int(count), unit)
            for total, count, none in zip(sums.to_pylist(), counts, is_null, strict=True)
        ]
        large = np.array([mean is not None and abs(mean) >= limit for mean in means], np.bool_)
        fitting = [None if wide else mean for mean, wide in zip(means, large, strict=True)]
        return pa.array(fitting, type=result.arrow), raised | large

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        values = known_values(rows)
        if not values:
            return None
        total = _plain_total(values)
        if not isinstance(total, Decimal):
            return float(total) / len(values)
        if _fitting(total, sum_type(_argument_type(call))) is None:
            return None
        mean = _divide(total, len(values), Decimal(1).scaleb(-call.slot.type.scale))
        return _fitting(mean, call.slot.type)


def _decimal_lanes(call: AggregateCall) -> tuple[Lane, ...]:
    """A decimal sum also keeps its count, and how often the sum of a slice had no digits left.

    Such a slice has rows and yet no sum.
    """
    overflow = (Overflow(call.argument),) if may_overflow(_argument_type(call)) else ()
    return Sum(call.argument), Count(call.argument), *overflow


def may_overflow(argument: Type) -> bool:
    """True if the sum of a decimal is kept in fewer digits than it might need."""
    return argument.precision > MAX_DIGITS - SUM_DIGITS


def _decimal_sums(
    call: AggregateCall, lanes: CombinedLanes
) -> tuple[pa.Array, Array, BoolArray, BoolArray]:
    """Sums, counts, where the result is NULL, and where Spark would have raised."""
    total, counts = lanes.encoded(Sum(call.argument)), lanes.counts(Count(call.argument))
    wide = sum_type(_argument_type(call))
    limbs = total.values if total.values.ndim == 2 else split_int64(total.values)
    sums = to_decimal(limbs, wide.precision, wide.scale)
    empty = counts == 0
    overflow = np.asarray(sums.is_null().to_numpy(zero_copy_only=False))
    if total.absent is not None:
        overflow = overflow | total.absent
    if may_overflow(_argument_type(call)):
        overflow = overflow | (lanes.counts(Overflow(call.argument)) > 0)
    raised = overflow & ~empty
    return sums, counts, empty | raised, raised


def _divide(total: Decimal, count: int, unit: Decimal) -> Decimal:
    quotient = _WIDE.divide(total, Decimal(count))
    return quotient.quantize(_DIVISION_PLACES, context=_WIDE).quantize(unit, context=_WIDE)


def _plain_total(values: Sequence[Any]) -> Any:
    return reduce(_WIDE.add, values) if isinstance(values[0], Decimal) else sum(values)


def _fitting(value: Decimal, kind: Type) -> Decimal | None:
    """NULL where the value has more digits than its type."""
    return value if abs(value) < Decimal(10) ** (kind.precision - kind.scale) else None
