"""What is worked out from all values of a group at once, by counting and sorting them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from tidemill.plan.query import AggregateCall
from tidemill.types import BIGINT, Type

HOLISTIC = ("COUNT_DISTINCT", "MEDIAN", "PERCENTILE", "TOP", "COLLECT")
# A value of each argument, from a row where all have one.
Rows = Sequence[tuple[Any, ...]]


def holistic(call: AggregateCall, rows: Rows) -> Any:
    """The aggregate over the values; NULL of none, unless it counts."""
    values = sorted((_one_of_each(row[0]) for row in rows), key=_rank)
    if call.function == "COUNT_DISTINCT":
        return len({_rank(value) for value in values})
    if call.part == "total":
        return len(values)
    if not values:
        return None
    if call.function == "TOP":
        return top(call, rows)
    if call.function == "COLLECT":
        return values[: _whole(call)]
    fraction = call.parameters[0] if call.function == "PERCENTILE" else 0.5
    return percentile(values, float(fraction))  # type: ignore[arg-type]


def percentile(values: Sequence[Any], fraction: float) -> float:
    """Of sorted values, as Spark interpolates."""
    at = (len(values) - 1) * fraction
    low, high = float(values[math.floor(at)]), float(values[math.ceil(at)])
    if low == high or math.floor(at) == math.ceil(at) or (low != low and high != high):
        return low
    return low + (high - low) * (at - math.floor(at))


def top(call: AggregateCall, rows: Rows) -> list[dict[str, Any]]:
    """Values by weight, the heaviest first, then by value."""
    weights: dict[Any, Any] = {}
    values: dict[Any, Any] = {}
    for value, *weight in rows:
        key = _rank(_one_of_each(value))
        values[key] = _one_of_each(value)
        weights[key] = weights.get(key, 0) + (weight[0] if weight else 1)
    order = sorted(values)
    order.sort(key=lambda key: _rank(weights[key]), reverse=True)
    kind = dict(call.slot.type.inner[0][1].inner)["weight"]
    return [
        {"value": values[key], "weight": _fitting(weights[key], kind)}
        for key in order[: _whole(call)]
    ]


def _whole(call: AggregateCall) -> int:
    found = call.parameters[0]
    assert isinstance(found, int)
    return found


def _fitting(weight: Any, kind: Type) -> Any:
    """NULL where a sum has more digits than its type."""
    if kind == BIGINT:
        return weight if -(2**63) <= weight < 2**63 else None
    if isinstance(weight, Decimal):
        return weight if abs(weight) < Decimal(10) ** (kind.precision - kind.scale) else None
    return float(weight)


def _one_of_each(value: Any) -> Any:
    """Zero without a sign."""
    return value + 0.0 if isinstance(value, float) else value


def _rank(value: Any) -> tuple[Any, ...]:
    """NaN above all numbers and equal to itself; text by its bytes."""
    if isinstance(value, float) and value != value:
        return (1, 0)
    return (0, value.encode() if isinstance(value, str) else value)
