"""Lower: combined lanes ⇒ the value of each aggregate, as Spark's batch SQL gives it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import cast

import numpy as np
import pyarrow as pa

from tidemill.aggregates import lower_bags
from tidemill.aggregates.behind import lanes_behind
from tidemill.aggregates.encoded import Encoded, mask_out
from tidemill.aggregates.estimates import Estimates, Sketched
from tidemill.aggregates.lanes import Lane
from tidemill.aggregates.limbs import split_int64, to_decimal, to_float, to_int64
from tidemill.aggregates.user.running import running
from tidemill.arrays import Array, BoolArray
from tidemill.plan.functions.basic import sum_type
from tidemill.plan.query import AggregateCall
from tidemill.types import Type

# What a lane is for the cells that are answered.
Lowering = Encoded | lower_bags.Runs | Sketched
Lowered = tuple[pa.Array, BoolArray]
# Values, which of them are not NULL, and where Spark would have raised; None: all, nowhere.
Numbers = tuple[Array, BoolArray | None, BoolArray | None]
# Spark divides decimals to 39 places first, then rounds to the scale of the result.
_DIVISION_PLACES = Decimal(1).scaleb(-39)
# What is taken off the count before it divides, and whether the root is drawn.
_SPREADS = {
    "VARIANCE": (1, False),
    "VAR_POP": (0, False),
    "STDDEV": (1, True),
    "STDDEV_POP": (0, True),
}
_WIDE = Context(prec=120, rounding=ROUND_HALF_UP)


def lower(call: AggregateCall, lanes: Mapping[Lane, Lowering]) -> Lowered:
    """The values, and where Spark would have raised (the value is NULL there).

    Only for results that are no plain numbers; `lower_numbers` has the others.
    """
    lane = lanes_behind(call)[0]
    if lane.is_sketch:
        found = _sketched(lane, lanes).most_frequent(call)
        return found, np.zeros(len(found), dtype=np.bool_)
    if lane.counts_values:
        return lower_bags.lists(call, _runs(lane, lanes))
    first, *rest = _encoded(call, lanes)
    if call.code is not None:
        return running(call.code, call.parameters).lower(first.values)
    if call.function in ("MIN", "MAX", "FIRST", "LAST"):
        return lane.decode(first)[-1], np.zeros(len(first.values), dtype=np.bool_)
    return _decimal(call, first, *rest)


def gives_numbers(call: AggregateCall) -> bool:
    """Whether the result is kept by NumPy as it is."""
    if call.code is not None or call.function in ("FIRST", "LAST"):
        return False
    kind = call.slot.type
    return not (kind.is_decimal or kind.inner or kind.name in ("STRING", "BINARY"))


def lower_numbers(
    call: AggregateCall, lanes: Mapping[Lane, Lowering], estimated: dict[Hashable, Estimates]
) -> Numbers:
    """The values as the lanes keep them: whole numbers in 64 bits, floats as doubles.

    A value and its bounds are estimated together, and kept for the calls to come.
    """
    lane = lanes_behind(call)[0]
    if lane.is_sketch:
        whole = call.function, call.argument, call.parameters
        if whole not in estimated:
            estimated[whole] = _sketched(lane, lanes).estimates(call)
        return *estimated[whole].part(call.part), None
    if lane.counts_values:
        return (*lower_bags.numbers(call, _runs(lane, lanes)), None)
    first, *rest = _encoded(call, lanes)
    if call.function == "AVG":
        return _average(first, rest[0])
    if call.function in _SPREADS:
        return _spread(call.function, first.values)
    if first.values.ndim == 2:
        values, overflow = to_int64(first.values)
        raised = overflow if first.valid is None else overflow & first.valid
        return values, ~raised if first.valid is None else first.valid & ~raised, raised
    return first.values, first.valid, None


def _sketched(lane: Lane, lanes: Mapping[Lane, Lowering]) -> Sketched:
    return cast(Sketched, lanes[lane])


def _runs(lane: Lane, lanes: Mapping[Lane, Lowering]) -> lower_bags.Runs:
    return cast(lower_bags.Runs, lanes[lane])


def _encoded(call: AggregateCall, lanes: Mapping[Lane, Lowering]) -> list[Encoded]:
    found = (lanes[lane] for lane in lanes_behind(call))
    return [lane for lane in found if isinstance(lane, Encoded)]


def _absent(encoded: Encoded) -> BoolArray:
    if encoded.valid is None:
        return np.zeros(len(encoded.values), dtype=np.bool_)
    return ~encoded.valid


def _average(total: Encoded, count: Encoded) -> Numbers:
    sums = to_float(total.values) if total.values.ndim == 2 else total.values
    empty = count.values == 0
    if not empty.any():
        return sums / count.values, None, None
    return sums / np.where(empty, 1, count.values), ~empty, None


def _spread(function: str, moments: Array) -> Numbers:
    """NULL of nothing at all; of a single value Spark's sample variance is NULL, too."""
    taken_off, is_root = _SPREADS[function]
    known = moments["n"] > taken_off
    values = moments["m2"] / np.where(known, moments["n"] - taken_off, 1)
    return np.sqrt(values) if is_root else values, known, None


def _decimal(
    call: AggregateCall, total: Encoded, count: Encoded, overflows: Encoded | None = None
) -> Lowered:
    assert call.argument is not None
    wide = sum_type(call.argument.type)
    limbs = total.values if total.values.ndim == 2 else split_int64(total.values)
    sums = to_decimal(limbs, wide.precision, wide.scale)
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
    sums: pa.Array, counts: Array, gone: BoolArray, raised: BoolArray, result: Type
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
