"""Care of the plan between two ticks: stints that ended, another rate of input, full memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidemill.aggregates import lanes_behind
from tidemill.aggregates.functions import function_of
from tidemill.catalog import Catalog
from tidemill.engine.register.plan import Planner
from tidemill.engine.tick.runner import StreamRunner
from tidemill.errors import Problem
from tidemill.language.names import Name
from tidemill.plan.query import AggregateCall, QueryPlan
from tidemill.share import SharedPlan, retire_stints
from tidemill.state.store import Version

_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Upkeep:
    """Drops stints whose last window has closed, and plans anew when rows come faster or slower."""

    planner: Planner

    def plan_after(
        self, plan: SharedPlan, runners: Iterable[StreamRunner], catalog: Catalog
    ) -> SharedPlan:
        """The same plan if the streams' last ticks give no cause to change it."""
        for runner in runners:
            plan = self._after(plan, runner, catalog)
        return plan

    def _after(self, plan: SharedPlan, runner: StreamRunner, catalog: Catalog) -> SharedPlan:
        name, state = runner.stream.key, runner.state
        if state.time.watermark_us is not None:
            plan = retire_stints(plan, name, state.time.watermark_us)
        rate = state.rate.rows_per_second
        return plan if rate is None else self.planner.follow_rate(plan, name, rate, catalog)


def oversized(
    plan: SharedPlan, versions: Mapping[Name, Version], limit_bytes: int
) -> dict[str, Problem]:
    """The queries to stop because the values they count take more than the limit, and why.

    `versions` are the states of the streams. Queries that share a synopsis with these
    but count no values go on.
    """
    return {
        query.name: _problem(query, calls, version.value_bytes(synopsis.id), limit_bytes)
        for stream, version in versions.items()
        for synopsis in plan.of_stream(stream)
        if version.value_bytes(synopsis.id) > limit_bytes
        for query, _ in plan.readers_of(synopsis)
        if (calls := _counting_calls(query))
    }


def _counting_calls(query: QueryPlan) -> list[AggregateCall]:
    """The aggregates of a query that are computed from counted values."""
    behind = ((call, lanes_behind(call)) for call in query.aggregates if not call.part)
    return [call for call, lanes in behind if any(lane.counts_values for lane in lanes)]


def _problem(
    query: QueryPlan, calls: list[AggregateCall], size_bytes: int, limit_bytes: int
) -> Problem:
    siblings = {name: call for call in calls if (name := function_of(call).sibling)}
    hints = [f"{name} in place of {call.sql} needs little" for name, call in siblings.items()]
    hints.append("or SET value_memory to more, and RESUME QUERY " + query.name)
    return Problem(
        "E_VALUE_MEMORY",
        f"query {query.name} is stopped: the values it counts take {_size_text(size_bytes)}",
        detail=f"value_memory allows {_size_text(limit_bytes)}",
        hint="; ".join(hints),
    )


def _size_text(size_bytes: int) -> str:
    if size_bytes >= _MEGABYTE:
        return f"{size_bytes / _MEGABYTE:.0f} MB"
    return f"{size_bytes / 1024:.0f} KB"
