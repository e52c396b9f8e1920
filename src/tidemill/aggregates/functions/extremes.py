"""MIN and MAX, in Spark's order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar

from tidemill.aggregates.functions.base import Function, is_plain, itself
from tidemill.aggregates.lanes import Lane, Max, Min, PlainRow, PlainWindow
from tidemill.aggregates.lanes.base import known_values
from tidemill.aggregates.lanes.extremes import Extreme
from tidemill.aggregates.lowering import CombinedLanes, Lowered, Numbers, nowhere
from tidemill.plan.functions import Signature
from tidemill.plan.query import AggregateCall


class ExtremeFunction(Function):
    """One of the values; NULL of none."""

    @abstractmethod
    def lane(self, call: AggregateCall) -> Extreme:
        """The one lane it has."""

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (self.lane(call),)

    def may_raise(self, call: AggregateCall) -> bool:
        return False

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        extreme = lanes.encoded(self.lane(call))
        return extreme.values, extreme.valid, None

    def lower(self, call: AggregateCall, lanes: CombinedLanes) -> Lowered:
        lane = self.lane(call)
        (values,) = lane.decode(lanes.encoded(lane))
        return values, nowhere(len(values))

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        values = known_values(rows)
        return reduce(self.lane(call).choose, values) if values else None


class Minimum(ExtremeFunction):
    """The least value."""

    signature: ClassVar[Signature] = Signature("MIN", "plain values", is_plain, itself)

    def lane(self, call: AggregateCall) -> Extreme:
        return Min(call.argument)


class Maximum(ExtremeFunction):
    """The greatest value."""

    signature: ClassVar[Signature] = Signature("MAX", "plain values", is_plain, itself)

    def lane(self, call: AggregateCall) -> Extreme:
        return Max(call.argument)
