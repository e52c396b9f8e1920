"""The agenda of one stream: its soft queries and SELECTs, the run that comes next, and its cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tidemill.arrays import IntArray
from tidemill.catalog import Stream
from tidemill.engine.beside.selects import WaitingSelect, WaitingSelects
from tidemill.engine.tick.bases import Versions
from tidemill.engine.tick.journal import QueryState, StreamState
from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.schedule import POLICIES, Deadlines, Due, History, Joint, Soft, policy_tasks
from tidemill.share import EngineCosts, SharedPlan, Stint
from tidemill.share.costs import needs_of
from tidemill.state.store import Version
from tidemill.time import Register
from tidemill.windows import BEGINNING_US, END_US

_US_PER_SECOND = 1_000_000
_NS = 1e-9


@dataclass(frozen=True)
class JointCosts:
    """Seconds: to begin, to read the cells of the longest window once, to answer each query."""

    run_ns: float
    read_ns: dict[str, float] = field(default_factory=dict)  # by query, its own cells
    answer_ns: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def of(
        plan: SharedPlan, queries: Iterable[QueryPlan], costs: EngineCosts, version: Version
    ) -> JointCosts:
        """Of cells that are there it is known how many they are; else the sample tells."""
        joint = JointCosts(costs.machine.run_ns)
        rates = {}
        for query in queries:
            synopsis = plan.synopsis_of(query.name)
            if synopsis.id not in rates:
                readers = [reader for reader, _ in plan.readers_of(synopsis)]
                stored = cells_per_second(version, synopsis.id)
                rates[synopsis.id] = stored or costs.cells_per_second(needs_of(readers))
            cells, needs = rates[synopsis.id], needs_of([query])
            work = costs.work_of(needs, cells)
            read = cells * max(query.window.ranges_us) / _US_PER_SECOND
            joint.read_ns[query.name] = read * (work.read_ns + work.combine_ns)
            joint.answer_ns[query.name] = _groups(query, costs) * work.answer_ns
        return joint

    def __call__(self, queries: Sequence[Soft]) -> float:
        names = [query.name for query in queries]
        read_ns = max(self.read_ns[name] for name in names)
        return (self.run_ns + read_ns + sum(self.answer_ns[name] for name in names)) * _NS


def cells_per_second(version: Version, synopsis_id: str) -> float | None:
    """Of stream time, over the slices that are kept; None where they are too few to tell."""
    slices = version.slices(synopsis_id)
    if len(slices) < 2:
        return None
    cells = sum(piece.rows for piece in version.of(synopsis_id))
    slice_us = float(slices[-1] - slices[0]) / (len(slices) - 1)
    return cells / (len(slices) * slice_us) * _US_PER_SECOND


def _groups(query: QueryPlan, costs: EngineCosts) -> float:
    """Groups of all of its windows."""
    needs = needs_of([query])
    return sum(
        costs.sample.cells(
            sorted(needs.keys), needs.predicates, range_us / _US_PER_SECOND, needs.keeps_all
        )
        for range_us in query.window.ranges_us
    )


_NONE: IntArray = np.zeros(0, np.int64)
# An update is a whole number of update lengths since 1970, so none lies beyond these.
_BEFORE_ALL_UPDATES, _AFTER_ALL_UPDATES = BEGINNING_US, END_US


@dataclass(frozen=True)
class JointRun:
    """A joint run: its queries, their windows, and the store as it is meanwhile."""

    joint: Joint
    names: tuple[str, ...]
    due: tuple[Due, ...]
    versions: Versions


@dataclass(frozen=True)
class OneTimeRun:
    """A SELECT whose turn has come, and the streams as they are meanwhile."""

    selected: WaitingSelect
    streams: Mapping[Name, StreamState]
    names: tuple[str, ...] = ()  # nobody waits for it after a kill


def soft_of(plan: SharedPlan, query: QueryPlan) -> Soft:
    """A query as schedules see it; those that read one synopsis can run together for less."""
    group = plan.synopsis_of(query.name).id
    return Soft(query.name, group, query.window.updates, query.priority)


@dataclass(frozen=True)
class AgendaContext:
    """For what runs beside the ticks: the queries, their costs, and the SELECTs that wait."""

    plan: SharedPlan
    paused: frozenset[str]
    policy: str  # the setting
    costs: Mapping[Name, EngineCosts]  # by stream
    states: Mapping[str, QueryState]  # by query
    selects: WaitingSelects


class Agenda:
    def __init__(
        self,
        context: AgendaContext,
        stream: Stream,
        queries: Iterable[QueryPlan],
        state: StreamState,
        ahead: int = 0,
    ) -> None:
        """`ahead`: how many updates the next tick may bring at once, as the last one shows."""
        self._context, self._stream = context, stream
        self._queries = {
            query.name: query
            for query in queries
            if query.is_soft and not query.parts and Name(query.name) not in context.paused
        }
        policy = POLICIES[context.policy]
        costs = context.costs[stream.key]
        cost = JointCosts.of(context.plan, self._queries.values(), costs, state.version)
        last = {name: context.states[name].history.last for name in self._queries}
        ran = {name: update for name, update in last.items() if update is not None}
        self._deadlines = Deadlines.starting(
            policy_tasks(policy, [soft_of(context.plan, q) for q in self._queries.values()], cost),
            policy.joining,
            _BEFORE_ALL_UPDATES,
            ran,
        )
        self.ahead = ahead
        self._carried: tuple[str, ...] = ()

    def carry_on(self, names: tuple[str, ...]) -> None:
        """These were being answered when the process ended, so they go first."""
        self._carried = self.among(names)

    def among(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those that are soft queries of the stream."""
        return tuple(name for name in names if name in self._queries)

    def note_tick(self, before: Register, after: Register, is_last: bool) -> None:
        """A tick may bring several updates; queries that the next tick would find late are due."""
        first, last = self._update(before), self._update(after)
        if is_last:
            # Nobody waits after the last row: every query sees the last update.
            self.ahead = _AFTER_ALL_UPDATES
        elif first is not None and last is not None and last > first:
            self.ahead = last - first - 1

    def is_due(self, state: StreamState) -> bool:
        return self._first(self._update(state.time)) is not None

    def next(self, streams: Mapping[Name, StreamState]) -> JointRun | OneTimeRun | None:
        """The run that is due first, over the streams of the home as they are now."""
        state = streams[self._stream.key]
        update = self._update(state.time)
        first = self._first(update)
        if update is None or first is None:
            return None
        if isinstance(first, WaitingSelect):
            self._context.selects.take(first)
            return OneTimeRun(first, dict(streams))
        return self._joint(first, state)

    def _joint(self, joint: Joint, state: StreamState) -> JointRun:
        update = joint.update
        names = tuple(name for name in joint.names if self._last(name) < update)
        slices = {key: state.version.slices(key) for key in state.version.pieces}
        due = [run for name in names for run in self._due(name, update, slices)]
        return JointRun(joint, names, tuple(due), {self._stream.key: state.version})

    def note_answered(self, run: JointRun) -> None:
        """After the run, which counts from the update that it saw."""
        self._deadlines.record_run(run.joint)
        self._carried = ()

    def histories(self, run: JointRun, time: Register, now_us: int) -> dict[str, History]:
        """The histories of a run's queries, with this run, which is delivered now."""
        together, at = len(run.names), self._update(time)
        assert at is not None  # or nothing could have run
        return {
            name: self._context.states[name].history.after(
                run.joint.update, self._queries[name].window.updates, now_us, together, at
            )
            for name in run.names
            if self._has_begun(name, run.joint.update)
        }

    def _first(self, update: int | None) -> Joint | WaitingSelect | None:
        if update is None:
            return None
        carried = self._carried
        tasks = (t for t in self._deadlines.tasks if any(m.name in carried for m in t.members))
        joint = Joint(tuple(tasks), update)
        if joint.tasks:
            return joint
        return self._context.selects.next(self._stream.key, self._deadlines, update, self.ahead)

    def _update(self, time: Register) -> int | None:
        return time.updates(self._stream.update_us)

    def _last(self, name: str) -> int:
        last = self._context.states[name].history.last
        return _BEFORE_ALL_UPDATES if last is None else last

    def _due(self, name: str, update: int, slices: Mapping[str, IntArray]) -> Iterator[Due]:
        """The window that ends with the update, of each length; none that is without rows."""
        end_us, every_us = update * self._stream.update_us, self._stream.update_us
        for range_us in self._queries[name].window.ranges_us:
            start_us = end_us - range_us
            if (stint := self._stint(name, start_us)) is None:
                continue
            starts = slices.get(stint.synopsis_id, _NONE)
            low, high = np.searchsorted(starts, [start_us, end_us])
            if low < high:
                yield Due((name,), stint.synopsis_id, range_us, every_us, start_us, 1)

    def _has_begun(self, name: str, update: int) -> bool:
        end_us = update * self._stream.update_us
        ranges_us = self._queries[name].window.ranges_us
        return any(self._stint(name, end_us - range_us) for range_us in ranges_us)

    def _stint(self, name: str, start_us: int) -> Stint | None:
        stints = self._context.plan.stints[name]
        return next((s for s in stints if s.from_us <= start_us < s.until_us), None)
