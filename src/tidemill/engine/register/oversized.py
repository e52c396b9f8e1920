"""Queries whose counted values take more memory than they may."""

from __future__ import annotations

from collections.abc import Mapping

from tidemill.aggregates import lanes_behind
from tidemill.aggregates.lanes import BAGS
from tidemill.errors import Problem
from tidemill.plan.query import AggregateCall, QueryPlan
from tidemill.share import SharedPlan
from tidemill.state.store import Version

# What answers the same from bounded memory.
SIBLINGS = {
    "COUNT_DISTINCT": "APPROX_COUNT_DISTINCT",
    "MEDIAN": "APPROX_PERCENTILE",
    "PERCENTILE": "APPROX_PERCENTILE",
    "TOP": "APPROX_TOP_K",
    "FREQUENT": "APPROX_TOP_K",
}
_MEGABYTE = 1 << 20


def oversized(plan: SharedPlan, versions: Mapping[str, Version], most: int) -> dict[str, Problem]:
    """By query, why it cannot go on; those that share a synopsis but count no values can.

    `versions` are the states of the streams, by name; `most` is in bytes.
    """
    return {
        query.name: _problem(query, calls, version.value_bytes(synopsis.id), most)
        for stream, version in versions.items()
        for synopsis in plan.of_stream(stream)
        if version.value_bytes(synopsis.id) > most
        for query, _ in plan.readers_of(synopsis)
        if (calls := counting(query))
    }


def counting(query: QueryPlan) -> list[AggregateCall]:
    """The aggregates of a query that are worked out from counted values."""
    behind = ((call, lanes_behind(call)) for call in query.aggregates if not call.part)
    return [call for call, lanes in behind if any(lane.kind in BAGS for lane in lanes)]


def _problem(query: QueryPlan, calls: list[AggregateCall], size: int, most: int) -> Problem:
    siblings = {SIBLINGS[call.function]: call for call in calls if call.function in SIBLINGS}
    hints = [f"{name} in place of {call.sql} needs little" for name, call in siblings.items()]
    hints.append("or SET value_memory to more, and RESUME QUERY " + query.name)
    return Problem(
        "E_VALUE_MEMORY",
        f"query {query.name} is stopped: the values it counts take {_shown(size)}",
        detail=f"value_memory allows {_shown(most)}",
        hint="; ".join(hints),
    )


def _shown(size: int) -> str:
    return f"{size / _MEGABYTE:.0f} MB" if size >= _MEGABYTE else f"{size / 1024:.0f} KB"
