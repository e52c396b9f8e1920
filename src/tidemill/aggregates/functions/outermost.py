"""FIRST and LAST by event time; of what came at once, the least or the greatest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from tidemill.aggregates.functions.base import Function, is_plain, itself
from tidemill.aggregates.lanes import First, Lane, Last, PlainRow
from tidemill.aggregates.lanes.outermost import Outermost
from tidemill.aggregates.lowering import CombinedLanes, Lowered, nowhere
from tidemill.aggregates.plain import outermost
from tidemill.plan.functions import Signature
from tidemill.plan.query import AggregateCall


class OutermostFunction(Function):
    """The value of the first or last row that has one."""

    @abstractmethod
    def lane(self, call: AggregateCall) -> Outermost:
        """The one lane it has."""

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (self.lane(call),)

    def gives_numbers(self, call: AggregateCall) -> bool:
        return False

    def lower(self, call: AggregateCall, lanes: CombinedLanes) -> Lowered:
        lane = self.lane(call)
        _, values = lane.decode(lanes.encoded(lane))
        return values, nowhere(len(values))

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], start_us: int) -> Any:
        pairs = [(time_us, value) for time_us, (value,) in rows if value is not None]
        return outermost(pairs, self.lane(call).is_last) if pairs else None


class FirstFunction(OutermostFunction):
    """The value that came first."""

    signature: ClassVar[Signature] = Signature("FIRST", "plain values", is_plain, itself)
    synonyms: ClassVar[tuple[str, ...]] = ("FIRST_VALUE",)

    def lane(self, call: AggregateCall) -> Outermost:
        return First(call.argument)


class LastFunction(OutermostFunction):
    """The value that came last."""

    signature: ClassVar[Signature] = Signature("LAST", "plain values", is_plain, itself)
    synonyms: ClassVar[tuple[str, ...]] = ("LAST_VALUE",)

    def lane(self, call: AggregateCall) -> Outermost:
        return Last(call.argument)
