"""What approximate aggregates are about, exactly: by looking at every value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from tidemill.plan.query import AggregateCall

Rank = Callable[[Any], tuple[Any, ...]]


def exactly(call: AggregateCall, values: Sequence[Any], rank: Rank) -> Any:
    """The value that a call estimates; both bounds of it are the value, and it is exact."""
    if call.part == "estimated":
        return 0.0
    # NaN is one value, though no NaN equals another.
    counts = Counter(math.nan if value != value else value for value in values)
    if call.function == "APPROX_COUNT_DISTINCT":
        return len(counts)
    if call.function == "APPROX_COUNT":
        return counts[_as_one_of(values, call.parameters[0])]
    if call.function == "APPROX_PERCENTILE":
        return _percentile([float(v) for v in values if v == v], float(str(call.parameters[0])))
    found = sorted(counts.items(), key=lambda item: (-item[1], rank(item[0])))
    told = [{"value": v, "count": n, "low": n, "high": n} for v, n in found]
    return told[: int(str(call.parameters[0]))] or None


def _percentile(values: list[float], share: float) -> float | None:
    """The least value with that share of all at or below it."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _as_one_of(values: Sequence[Any], constant: Any) -> Any:
    is_float = isinstance(constant, Decimal) and isinstance((*values, None)[0], float)
    return float(constant) if is_float else constant
