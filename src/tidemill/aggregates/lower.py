"""Lower: combined lanes ⇒ the value of each aggregate, as Spark's batch SQL gives it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.aggregates.encoding import Encoded, decode, mask_out
from tidemill.aggregates.lanes import Lane, lanes_behind
from tidemill.aggregates.limbs import to_decimal, to_float, to_int64
from tidemill.plan.aggregates import sum_type
from tidemill.plan.model import AggregateCall
from tidemill.types import Type

Mask = NDArray[np.bool_]
Lowered = tuple[pa.Array, Mask]
# Spark divides decimals to 39 places first, then rounds to the scale of the result.
_DIVISION_PLACES = Decimal(1).scaleb(-39)
_WIDE = Context(prec=120, rounding=ROUND_HALF_UP)


def lower(call: AggregateCall, lanes: Mapping[Lane, Encoded]) -> Lowered:
    """The values, and where Spark would have raised (the value is NULL there)."""
    first, *rest = (lanes[lane] for lane in lanes_behind(call))
    lane = lanes_behind(call)[0]
    if call.function in ("COUNT", "MIN", "MAX"):
        return decode(lane, first)[0], np.zeros(len(first.values), dtype=np.bool_)
    if call.slot.type.is_decimal:
        return _decimal(call, first, *rest)
    if call.function == "SUM":
        return _sum(first)
    return _average(first, rest[0])


def _absent(encoded: Encoded) -> Mask:
    if encoded.valid is None:
        return np.zeros(len(encoded.values), dtype=np.bool_)
    return ~encoded.valid


def _sum(total: Encoded) -> Lowered:
    absent = _absent(total)
    if total.values.ndim == 2:
        values, overflow = to_int64(total.values)
        raised = overflow & ~absent
        return pa.array(values, mask=absent | raised), raised
    return pa.array(total.values, mask=absent), np.zeros(len(absent), dtype=np.bool_)


def _average(total: Encoded, count: Encoded) -> Lowered:
    sums = to_float(total.values) if total.values.ndim == 2 else total.values
    empty = count.values == 0
    means = sums.astype(np.float64) / np.where(empty, 1, count.values)
    return pa.array(means, mask=empty), np.zeros(len(empty), dtype=np.bool_)


def _decimal(
    call: AggregateCall, total: Encoded, count: Encoded, overflows: Encoded | None = None
) -> Lowered:
    assert call.argument is not None
    wide = sum_type(call.argument.type)
    sums = to_decimal(total.values, wide.precision, wide.scale)
    empty = count.values == 0
    overflow = np.asarray(sums.is_null().to_numpy(zero_copy_only=False)) | _absent(total)
    if overflows is not None:
        overflow |= overflows.values > 0
    raised = overflow & ~empty
    gone = empty | raised
    if call.function == "SUM":
        return mask_out(sums, gone), raised
    return _decimal_average(sums, count.values, gone, raised, call.slot.type)


def _decimal_average(
    sums: pa.Array, counts: NDArray[Any], gone: Mask, raised: Mask, result: Type
) -> Lowered:
    unit = Decimal(1).scaleb(-result.scale)
    limit = Decimal(10) ** (result.precision - result.scale)
    means = [
        None if none else _divide(total, int(count), unit)
        for total, count, none in zip(sums.to_pylist(), counts, gone, strict=True)
    ]
    large = np.array([mean is not None and abs(mean) >= limit for mean in means], dtype=np.bool_)
    kept = [None if too_large else mean for mean, too_large in zip(means, large, strict=True)]
    return pa.array(kept, type=result.arrow), raised | large


def _divide(total: Decimal, count: int, unit: Decimal) -> Decimal:
    quotient = _WIDE.divide(total, Decimal(count))
    return quotient.quantize(_DIVISION_PLACES, context=_WIDE).quantize(unit, context=_WIDE)
