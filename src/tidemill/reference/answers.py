"""A query answered in the plainest way: every window, every row, one at a time.

The slow twin of lanes, slices, pieces, kernels, layouts and finishing together. Rows come
with their tuple-level expressions evaluated, by name of the expression: those are Spark's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import reduce
from typing import Any

from tidemill.plan.model import AggregateCall, QueryPlan
from tidemill.reference.expressions import evaluate_row
from tidemill.reference.recalc import greatest, least
from tidemill.reference.windows import windows_of
from tidemill.types import BIGINT

_WIDE = Context(prec=120, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class Row:
    """An accepted row: its time, and the value of each tuple-level expression by its text."""

    time_us: int
    values: Mapping[str, Any]


def answers(plan: QueryPlan, rows: Iterable[Row]) -> list[tuple[int, int, tuple[Any, ...]]]:
    """(window start, window end, select list) of every answer row, in no order; no LIMIT."""
    window = plan.window
    groups: dict[tuple[int, int, tuple[Any, ...]], list[Row]] = {}
    for row in rows:
        if plan.where is not None and row.values[plan.where.sql] is not True:
            continue
        key = tuple(_key(row.values[k.scalar.sql]) for k in plan.keys)
        spans = windows_of(row.time_us, window.range_us, window.slide_us, window.start_us)
        for start, end in spans:
            groups.setdefault((start, end, key), []).append(row)
    return [
        (start, end, tuple(evaluate_row(o.node, slots)[0] for o in plan.outputs))
        for (start, end, key), members in groups.items()
        if _kept(plan, slots := _slots(plan, key, members))
    ]


def _key(value: Any) -> Any:
    # NaN is one group, though no NaN equals another.
    return "NaN" if isinstance(value, float) and value != value else value


def _slots(plan: QueryPlan, key: tuple[Any, ...], members: Sequence[Row]) -> dict[str, Any]:
    keys = zip(plan.keys, key, strict=True)
    slots = {k.slot.name: float("nan") if value == "NaN" else value for k, value in keys}
    slots |= {call.slot.name: _aggregate(call, members) for call in plan.aggregates}
    return slots


def _kept(plan: QueryPlan, slots: dict[str, Any]) -> bool:
    return plan.having is None or evaluate_row(plan.having, slots)[0] is True


def _aggregate(call: AggregateCall, members: Sequence[Row]) -> Any:
    if call.argument is None:
        return len(members)
    found = [row.values[call.argument.sql] for row in members]
    values = [value for value in found if value is not None]
    if call.function == "COUNT":
        return len(values)
    if not values:
        return None
    if call.function in ("MIN", "MAX"):
        return reduce(least if call.function == "MIN" else greatest, values)
    total = reduce(_WIDE.add, values) if isinstance(values[0], Decimal) else sum(values)
    return _sum(call, total) if call.function == "SUM" else _mean(call, total, len(values))


def _sum(call: AggregateCall, total: Any) -> Any:
    if call.slot.type == BIGINT:
        return total if -(2**63) <= total < 2**63 else None
    return _fitting(call, total) if isinstance(total, Decimal) else total


def _mean(call: AggregateCall, total: Any, count: int) -> Any:
    if not isinstance(total, Decimal):
        return float(total) / count
    if _fitting(call, total, of_sum=True) is None:
        return None
    quotient = _WIDE.divide(total, Decimal(count)).quantize(Decimal(1).scaleb(-39), context=_WIDE)
    return _fitting(
        call, quotient.quantize(Decimal(1).scaleb(-call.slot.type.scale), context=_WIDE)
    )


def _fitting(call: AggregateCall, value: Decimal, of_sum: bool = False) -> Decimal | None:
    """NULL where the value has more digits than its type."""
    assert call.argument is not None
    digits = call.slot.type.precision - call.slot.type.scale
    if of_sum:
        digits = min(38, call.argument.type.precision + 10) - call.argument.type.scale
    return value if abs(value) < Decimal(10) ** digits else None
