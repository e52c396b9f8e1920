"""FIRST and LAST by event time; of what came at once, the least or the greatest.

As in Spark a NULL is a value, below all others, unless it is to be ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tidemill.aggregates.functions.base import Function, is_plain, itself, true_or_false
from tidemill.aggregates.lanes import (
    First,
    FirstKnown,
    Lane,
    Last,
    LastKnown,
    PlainRow,
    PlainWindow,
)
from tidemill.aggregates.lanes.outermost import Outermost
from tidemill.aggregates.lowering import CombinedLanes, Lowered, nowhere
from tidemill.aggregates.plain import outermost
from tidemill.plan.functions import IGNORE_NULLS, Parameter, Signature
from tidemill.plan.query import AggregateCall


class OutermostFunction(Function):
    """The value of the first or last row, or of the one that has a value."""

    all_rows: ClassVar[type[Outermost]]
    known_rows: ClassVar[type[Outermost]]

    def lane(self, call: AggregateCall) -> Outermost:
        """The one lane it has."""
        (ignores_nulls,) = call.parameters
        return (self.known_rows if ignores_nulls else self.all_rows)(call.argument)

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (self.lane(call),)

    def gives_numbers(self, call: AggregateCall) -> bool:
        return False

    def lower(self, call: AggregateCall, lanes: CombinedLanes) -> Lowered:
        lane = self.lane(call)
        _, values = lane.decode(lanes.encoded(lane))
        return values, nowhere(len(values))

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        lane = self.lane(call)
        pairs = lane.pairs(rows)
        return outermost(pairs, lane.is_last) if pairs else None


def _signature(name: str) -> Signature:
    ignore_nulls = Parameter(IGNORE_NULLS, true_or_false, False, is_required=False)
    return Signature(name, "plain values", is_plain, itself, parameters=(ignore_nulls,))


class FirstFunction(OutermostFunction):
    """The value that came first."""

    signature: ClassVar[Signature] = _signature("FIRST")
    synonyms: ClassVar[tuple[str, ...]] = ("FIRST_VALUE",)
    all_rows: ClassVar[type[Outermost]] = First
    known_rows: ClassVar[type[Outermost]] = FirstKnown


class LastFunction(OutermostFunction):
    """The value that came last."""

    signature: ClassVar[Signature] = _signature("LAST")
    synonyms: ClassVar[tuple[str, ...]] = ("LAST_VALUE",)
    all_rows: ClassVar[type[Outermost]] = Last
    known_rows: ClassVar[type[Outermost]] = LastKnown
