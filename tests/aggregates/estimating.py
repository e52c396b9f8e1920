"""What the engine tells of the sketches of a window's cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.laws.queries import plan_of
from tidemill.aggregates import lanes_behind
from tidemill.aggregates.merging import objects
from tidemill.aggregates.sketches import SketchLane
from tidemill.plan.query import AggregateCall
from tidemill.state.sketched.rows import Reader, SketchRows, SketchRuns

Told = tuple[Any, Any, Any]  # value, low, high


def call_of(sql: str) -> AggregateCall:
    plan = plan_of(0, f"SELECT {sql} AS a FROM s [RANGE 9 ms SLIDE 4 ms]")
    return next(call for call in plan.aggregates if not call.part)


def lane_of(sql: str) -> SketchLane:
    (lane,) = lanes_behind(call_of(sql))
    assert isinstance(lane, SketchLane)
    return lane


def runs_of(
    lane: SketchLane, states: Sequence[Any], bounds: Sequence[tuple[int, int]]
) -> SketchRuns:
    first, last = np.array(bounds, np.int64).reshape(-1, 2).T
    rows = SketchRows(Reader(lane, objects(states)), np.arange(len(states)))
    return SketchRuns(rows, first, last)


def told(
    sql: str,
    states: Sequence[Any],
    bounds: Sequence[tuple[int, int]],
    lane: SketchLane | None = None,
) -> list[Told | None]:
    """Of each run of the states; the lane that is behind the call, if it is not another."""
    found = runs_of(lane or lane_of(sql), states, bounds).estimates(call_of(sql))
    columns = (found.value, found.low, found.high, found.is_known)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [tuple(row) if known else None for *row, known in rows]


def told_of_all(sql: str, states: Sequence[Any], lane: SketchLane | None = None) -> Any:
    """Of all states together. Among other runs, so that sweeps go over many at once."""
    cells, whole = [*states, None, *states], (0, len(states))
    bounds = [whole, (1, len(states) + 1), (len(states) + 1, len(cells)), (0, 0)]
    first, _, again, _ = told(sql, cells, bounds, lane)
    (alone,) = told(sql, states, [whole], lane)
    assert first == again == alone
    return first
