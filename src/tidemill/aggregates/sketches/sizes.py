"""Which sketch is behind a call, and how large it is for the error that is asked for."""

from __future__ import annotations

from tidemill.plan.expressions import Value
from tidemill.plan.functions.sketches import (
    count_min_width,
    distinct_log_size,
    items_log_size,
    quantile_size,
)
from tidemill.plan.query import AggregateCall


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
