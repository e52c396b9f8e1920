"""A user's aggregate called with one row at a time, combined from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tidemill.aggregates.user.results import as_result
from tidemill.aggregates.user.states import States
from tidemill.plan.functions.user import declared, made
from tidemill.plan.query import AggregateCall


def written(call: AggregateCall, rows: Sequence[Sequence[Any]]) -> Any:
    """The value over the rows, of which those with a NULL are left out."""
    assert call.code is not None
    user, found = made(call.code, call.parameters), declared(call.code)
    states, kinds = States(found.state), [argument.type.arrow for argument in found.arguments]

    def lone(given: Any) -> dict[str, Any]:
        return states.columns(states.records(given, 1))

    with np.errstate(all="ignore"):
        whole = lone(user.identity())
        for row in rows:
            if all(value is not None for value in row):
                one = [_alone(value, kind) for value, kind in zip(row, kinds, strict=True)]
                whole = lone(user.combine(whole, lone(user.lift(*one))))
        return as_result(user.lower(whole), found.result, 1)[0].as_py()


def _alone(value: Any, kind: pa.DataType) -> pa.Array:
    # Arrow refuses whole numbers that no double is equal to.
    return pa.array([float(value) if pa.types.is_floating(kind) else value], kind)
