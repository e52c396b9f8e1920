"""The function of a user's aggregate: one lane, lowered by the user's code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tidemill.aggregates.functions.base import Function
from tidemill.aggregates.lanes import Lane, PlainRow, PlainWindow
from tidemill.aggregates.lowering import CombinedLanes, Lowered
from tidemill.aggregates.user.lanes import UserLane
from tidemill.aggregates.user.results import as_result
from tidemill.aggregates.user.states import States
from tidemill.plan.functions.user import declared, make_aggregate
from tidemill.plan.query import AggregateCall


class UserFunction(Function):
    """Any aggregate whose call carries its code."""

    def lane(self, call: AggregateCall) -> UserLane:
        return UserLane(call.argument, call.others, call.parameters, call.code)

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (self.lane(call),)

    def gives_numbers(self, call: AggregateCall) -> bool:
        return False

    def lower(self, call: AggregateCall, lanes: CombinedLanes) -> Lowered:
        lane = self.lane(call)
        return lane.user.lower(lanes.encoded(lane).values)

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        """One row at a time, combined from left to right; rows with a NULL are left out."""
        assert call.code is not None
        user, declaration = make_aggregate(call.code, call.parameters), declared(call.code)
        states = States(declaration.state)
        kinds = [argument.type.arrow for argument in declaration.arguments]

        def lone(given: Any) -> dict[str, Any]:
            return states.columns(states.records(given, 1))

        with np.errstate(all="ignore"):
            total = lone(user.identity())
            for _, values in rows:
                if all(value is not None for value in values):
                    columns = [_alone(v, kind) for v, kind in zip(values, kinds, strict=True)]
                    total = lone(user.combine(total, lone(user.lift(*columns))))
            return as_result(user.lower(total), declaration.result, 1)[0].as_py()


def _alone(value: Any, kind: pa.DataType) -> pa.Array:
    # Arrow refuses whole numbers that no double is equal to.
    return pa.array([float(value) if pa.types.is_floating(kind) else value], kind)
