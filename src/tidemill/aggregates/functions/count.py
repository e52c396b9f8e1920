"""COUNT of rows or values, and of distinct values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tidemill.aggregates.functions.base import Function
from tidemill.aggregates.functions.forms import bigint, is_any, is_plain
from tidemill.aggregates.lanes import ROWS, Count, Counts, Lane, PlainRow
from tidemill.aggregates.lowering import CombinedLanes, Numbers
from tidemill.aggregates.plain import sort_key, unsigned_zero
from tidemill.plan.functions import Signature
from tidemill.plan.query import AggregateCall


class CountFunction(Function):
    """COUNT(*) has no argument."""

    signature: ClassVar[Signature] = Signature("COUNT", "any values", is_any, bigint)

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (ROWS if call.argument is None else Count(call.argument),)

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        (lane,) = self.lanes(call)
        counts = lanes.encoded(lane)
        return counts.values, counts.valid, None

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], start_us: int) -> Any:
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

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], start_us: int) -> Any:
        return len({sort_key(unsigned_zero(value)) for _, (value,) in rows if value is not None})
