"""Care of the plan between two ticks: stints that ended, another rate of input, full memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tidemill.aggregates import lanes_behind
from tidemill.aggregates.functions import function_of
from tidemill.catalog import Catalog
from tidemill.engine.register.turns import RateTurns
from tidemill.engine.tick.bases import Registers, over_us_of
from tidemill.engine.tick.journal import StreamState
from tidemill.engine.tick.runner import StreamRunner
from tidemill.errors import Problem
from tidemill.language.names import Name, answered_by
from tidemill.plan.query import AggregateCall, QueryPlan
from tidemill.plan.relation import source_names
from tidemill.schedule import Specs, oldest_needed
from tidemill.share import SharedPlan, Stint, retire_stints, specs_of
from tidemill.share.model import lanes_of
from tidemill.state.counted import CountedValues
from tidemill.state.synopsis import Synopsis

_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Upkeep:
    """Drops stints whose last window has closed, and plans anew when rows come faster or slower."""

    turns: RateTurns

    def plan_after(
        self,
        plan: SharedPlan,
        runners: Iterable[StreamRunner],
        catalog: Catalog,
        wait: bool = False,
    ) -> SharedPlan:
        """The same plan if the streams' last ticks give no cause to change it.

        It is the same as well while another is being made, unless that is to be waited for.
        """
        runners = tuple(runners)
        times = {runner.stream.key: runner.state.time for runner in runners}
        corrects = {runner.stream.key: runner.stream.correct_us for runner in runners}
        for runner in runners:
            plan = self._after(plan, runner, partial(over_us, plan, times, corrects), catalog, wait)
        return plan

    def _after(
        self,
        plan: SharedPlan,
        runner: StreamRunner,
        over_by: Callable[[QueryPlan], int | None],
        catalog: Catalog,
        wait: bool,
    ) -> SharedPlan:
        name, state = runner.stream.key, runner.state
        if not plan.parts_of(name):
            return plan  # dropped since its last tick, and maybe its stream as well
        plan = retire_stints(plan, name, over_by)
        rate = state.rate.rows_per_second
        return plan if rate is None else self.turns.follow(plan, name, rate, catalog, wait)


def over_us(
    plan: SharedPlan, times: Registers, corrects: Mapping[Name, int], part: QueryPlan
) -> int | None:
    """The time by which windows of a part are over."""
    query = plan.query(part.owner)
    sources = source_names(query.relation)
    if not times.keys() >= set(sources):
        return None  # a source has been added that no runner reads yet
    update_us = part.window.update_us if part.is_soft else 0
    return over_us_of(sources, update_us, query.before_us, times, corrects)


def oversized(
    plan: SharedPlan, states: Mapping[Name, StreamState], synopses: Path, limit_bytes: int
) -> dict[str, Problem]:
    """The queries to stop because the values they count take more than the limit, and why.

    What counts is what a query would take alone, whoever reads the same synopsis. It is looked
    up in the pieces only where all of them together take more; they lie in `synopses`.
    """
    times = {stream: state.time for stream, state in states.items()}
    sizes = {
        part.owner: (part, _alone_bytes(part, stint, synopsis, state, synopses, came_us))
        for stream, state in states.items()
        for synopsis in plan.of_stream(stream)
        if state.version.value_bytes(synopsis.id) > limit_bytes
        for part, stint in plan.readers_of(synopsis)
        for came_us in [over_us(plan, times, {}, part)]
    }
    return {
        name: _problem(part, size_bytes, limit_bytes)
        for name, (part, size_bytes) in sizes.items()
        if size_bytes > limit_bytes
    }


def _alone_bytes(
    part: QueryPlan,
    stint: Stint,
    synopsis: Synopsis,
    state: StreamState,
    synopses: Path,
    came_us: int | None,
) -> int:
    """The memory that the part alone would need for the values it counts for open windows."""
    specs, pieces, from_us = specs_of(part), state.version.of(synopsis.id), stint.from_us
    if came_us is not None:
        from_us = max(from_us, oldest_needed(Specs.of(specs), came_us))
    return sum(
        CountedValues(lane, stint.reading, specs).bytes_in(
            synopses / synopsis.id, synopsis, pieces, from_us
        )
        for lane in lanes_of(part)
        if lane.counts_values
    )


def _counting_calls(query: QueryPlan) -> list[AggregateCall]:
    """The aggregates of a query that are computed from counted values."""
    behind = ((call, lanes_behind(call)) for call in query.aggregates if not call.part)
    return [call for call, lanes in behind if any(lane.counts_values for lane in lanes)]


def _problem(query: QueryPlan, size_bytes: int, limit_bytes: int) -> Problem:
    calls = _counting_calls(query)
    siblings = {name: call for call in calls if (name := function_of(call).sibling)}
    hints = [f"{name} in place of {call.sql} needs little" for name, call in siblings.items()]
    is_hidden = answered_by(query.owner) is not None
    resumed = "resume the queries that read it" if is_hidden else f"RESUME QUERY {query.owner}"
    hints.append(f"or SET value_memory to more, and {resumed}")
    return Problem(
        "E_VALUE_MEMORY",
        f"query {query.owner} is stopped: the values it counts take {_size_text(size_bytes)}",
        detail=f"value_memory allows {_size_text(limit_bytes)}",
        hint="; ".join(hints),
    )


def _size_text(size_bytes: int) -> str:
    if size_bytes >= _MEGABYTE:
        return f"{size_bytes / _MEGABYTE:.0f} MB"
    return f"{size_bytes / 1024:.0f} KB"
