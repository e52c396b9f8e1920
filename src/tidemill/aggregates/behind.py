"""The lanes that each aggregate is lowered from."""

from __future__ import annotations

from tidemill.aggregates.lanes import ROWS, Lane, Weights, lane_of_kind
from tidemill.aggregates.lanes.sums import may_overflow
from tidemill.aggregates.user.lanes import UserLane
from tidemill.plan.expressions import Value
from tidemill.plan.functions.sketches import (
    count_min_width,
    distinct_log_size,
    items_log_size,
    quantile_size,
)
from tidemill.plan.query import AggregateCall

_NEEDS = {
    "COUNT": ("count",),
    "SUM": ("sum",),
    "AVG": ("sum", "count"),
    "MIN": ("min",),
    "MAX": ("max",),
    "VARIANCE": ("moments",),
    "VAR_POP": ("moments",),
    "STDDEV": ("moments",),
    "STDDEV_POP": ("moments",),
    "FIRST": ("first",),
    "LAST": ("last",),
    "COUNT_DISTINCT": ("counts",),
    "MEDIAN": ("counts",),
    "PERCENTILE": ("counts",),
    "TOP": ("counts",),
    "COLLECT": ("counts",),
    "FREQUENT": ("counts",),
}


def lanes_behind(call: AggregateCall) -> tuple[Lane, ...]:
    """The lanes that an aggregate is lowered from.

    A decimal sum also keeps its count, and where the sum of a slice may have more digits
    than there are, how often it had: such a slice has rows and yet no sum.
    """
    if call.argument is None:
        return (ROWS,)
    if call.code is not None:
        return (UserLane(call.argument, call.others, call.parameters, call.code),)
    if call.function == "TOP" and call.others:
        return (Weights(call.argument, call.others),)
    if call.function.startswith("APPROX_"):
        kind, size = sketch_behind(call)
        return (lane_of_kind(kind, call.argument, parameters=(size,)),)
    kinds: tuple[str, ...] = _NEEDS[call.function]
    if call.function in ("SUM", "AVG") and call.argument.type.is_decimal:
        kinds = (
            ("sum", "count", "overflow") if may_overflow(call.argument.type) else ("sum", "count")
        )
    return tuple(lane_of_kind(kind, call.argument) for kind in kinds)


def sketch_behind(call: AggregateCall) -> tuple[str, int]:
    """Its kind and its size."""
    if call.function == "APPROX_COUNT_DISTINCT":
        error, method = call.parameters
        return str(method), distinct_log_size(_number(error), str(method))
    wanted, error = call.parameters
    if call.function == "APPROX_PERCENTILE":
        return "kll", quantile_size(_number(error))
    if call.function == "APPROX_TOP_K":
        return "items", items_log_size(_number(error), int(_number(wanted)))
    return "countmin", count_min_width(_number(error))


def _number(value: Value) -> float:
    return float(str(value))
