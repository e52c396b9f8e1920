"""The lane of a user's aggregate: values with how often they are there, or states, in Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tidemill.aggregates.user.running import Running, running
from tidemill.arrays import Array, BoolArray
from tidemill.plan.query import AggregateCall

if TYPE_CHECKING:
    from tidemill.aggregates.lanes import Lane


def running_lane(lane: Lane) -> Running:
    assert lane.code is not None
    return running(lane.code, lane.parameters)


def encode_user(lane: Lane, arrays: list[pa.Array]) -> Array:
    """States of rows that hold one value of each argument and how often; or as they were kept.

    The first column is that of states, which only pieces have.
    """
    mine = running_lane(lane)
    if len(arrays) == 1:
        return mine.states.from_arrow(arrays[0])
    _, times, *values = arrays
    return mine.power(mine.lift(values), np.array(times.to_numpy(zero_copy_only=False)))


def decode_user(lane: Lane, states: Array) -> list[pa.Array]:
    return [running_lane(lane).states.to_arrow(states)]


def absent_user(lane: Lane, rows: int) -> Array:
    mine = running_lane(lane)
    return mine.algebra.filled((rows,), mine.states.dtype)


def lower_user(call: AggregateCall, states: Array) -> tuple[pa.Array, BoolArray]:
    assert call.code is not None
    return running(call.code, call.parameters).lower(states)
