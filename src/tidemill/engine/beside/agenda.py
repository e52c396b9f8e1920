"""The agenda of a stream or a union: its soft queries and SELECTs, the run that comes next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tidemill.arrays import IntArray
from tidemill.engine.beside.costs import JointCosts, group_of
from tidemill.engine.beside.selects import WaitingSelect, WaitingSelects
from tidemill.engine.tick.bases import Registers, Versions, bases_of, register_of
from tidemill.engine.tick.journal import QueryState, StreamState
from tidemill.engine.tick.stints import JointStint, basis_id, joint_stints_of
from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_names
from tidemill.schedule import POLICIES, Deadlines, Due, History, Joint, Soft, Task, policy_tasks
from tidemill.share import EngineCosts, SharedPlan
from tidemill.windows import BEGINNING_US, END_US

# An update is a whole number of update lengths since 1970, so none lies beyond these.
_BEFORE_ALL_UPDATES, _AFTER_ALL_UPDATES = BEGINNING_US, END_US


@dataclass(frozen=True)
class JointRun:
    """A joint run: its queries, their windows, and the store as it is meanwhile."""

    joint: Joint
    names: tuple[str, ...]
    due: tuple[Due, ...]
    versions: Versions

    @property
    def sources(self) -> tuple[Name, ...]:
        """The streams that it reads."""
        return tuple(self.versions)


@dataclass(frozen=True)
class OneTimeRun:
    """A SELECT whose turn has come, and the streams as they are meanwhile."""

    selected: WaitingSelect
    streams: Mapping[Name, StreamState]
    names: tuple[str, ...] = ()  # nobody waits for it after a kill


def soft_of(plan: SharedPlan, query: QueryPlan) -> Soft:
    """A query as schedules see it."""
    return Soft(query.name, group_of(plan, query), query.window.updates, query.priority)


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
    """Queries over one stream, or over unions of the same streams, by updates of their time."""

    def __init__(
        self,
        context: AgendaContext,
        sources: tuple[Name, ...],
        queries: Iterable[QueryPlan],
        streams: Mapping[Name, StreamState],
        update_us: int,
        ahead: int = 0,
    ) -> None:
        """`ahead`: how many updates the next tick may bring at once, as the last one shows."""
        self._context, self.sources, self._update_us = context, sources, update_us
        self._queries = {query.name: query for query in queries}
        self._bases = bases_of(context.plan, self._queries.values())
        self._stints = {name: joint_stints_of(context.plan, name) for name in self._queries}
        last = {name: context.states[name].history.last for name in self._queries}
        ran = {name: update for name, update in last.items() if update is not None}
        joining = POLICIES[context.policy].joining
        tasks = self._tasks({name: streams[name].version for name in sources})
        self._deadlines = Deadlines.starting(tasks, joining, _BEFORE_ALL_UPDATES, ran)
        self.ahead = ahead
        self._carried: tuple[str, ...] = ()

    def carry_on(self, names: tuple[str, ...]) -> None:
        """These were being answered when the process ended, so they go first."""
        self._carried = self.among(names)

    def among(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those that are soft queries of its own."""
        return tuple(name for name in names if name in self._queries)

    def note_tick(self, before: Registers, after: Registers, is_flush: bool) -> None:
        """A tick may bring several updates; queries that the next tick would find late are due."""
        first, last = self._update(before), self._update(after)
        if is_flush and self._is_at_end(after):
            # Nobody waits after the last row: every query sees the last update.
            self.ahead = _AFTER_ALL_UPDATES
        elif first is not None and last is not None and last > first:
            self.ahead = last - first - 1

    def is_due(self, streams: Mapping[Name, StreamState]) -> bool:
        return self._first(self._update(self._times(streams))) is not None

    def next(self, streams: Mapping[Name, StreamState]) -> JointRun | OneTimeRun | None:
        """The run that is due first, over the streams of the home as they are now."""
        # Ticks bring them up to date on another thread, and all are to be of one moment.
        states = dict(streams)
        update = self._update(self._times(states))
        first = self._first(update)
        if update is None or first is None:
            return None
        if isinstance(first, WaitingSelect):
            self._context.selects.take(first)
            return OneTimeRun(first, states)
        return self._joint(first, {name: states[name].version for name in self.sources})

    def _joint(self, joint: Joint, versions: Versions) -> JointRun:
        update = joint.update
        names = tuple(name for name in joint.names if self._last(name) < update)
        slices = {basis_id(basis.synopses): basis.slices(versions) for basis in self._bases}
        due = [run for name in names for run in self._due(name, update, slices)]
        return JointRun(joint, names, tuple(due), versions)

    def note_answered(self, run: JointRun) -> None:
        """After the run, which counts from the update that it saw."""
        self._deadlines.record_run(run.joint)
        self._carried = ()

    def histories(
        self, run: JointRun, streams: Mapping[Name, StreamState], now_us: int
    ) -> dict[str, History]:
        """The histories of a run's queries, with this run, which is delivered now."""
        together, at = len(run.names), self._update(self._times(streams))
        assert at is not None  # or nothing could have run
        return {
            name: self._context.states[name].history.after(
                run.joint.update, self._queries[name].window.updates, now_us, together, at
            )
            for name in run.names
            if self._has_begun(name, run.joint.update)
        }

    def _tasks(self, versions: Versions) -> Sequence[Task]:
        """The tasks of the policy; most streams have none."""
        if not self._queries:
            return ()
        plan, queries = self._context.plan, self._queries.values()
        costs = {name: self._context.costs[name] for name in self.sources}
        cost = JointCosts.of(plan, queries, costs, versions)
        softs = [soft_of(plan, query) for query in queries]
        return policy_tasks(POLICIES[self._context.policy], softs, cost)

    def _first(self, update: int | None) -> Joint | WaitingSelect | None:
        if update is None:
            return None
        carried = self._carried
        tasks = (t for t in self._deadlines.tasks if any(m.name in carried for m in t.members))
        joint = Joint(tuple(tasks), update)
        if joint.tasks:
            return joint
        return self._context.selects.next(self.sources, self._deadlines, update, self.ahead)

    def _times(self, streams: Mapping[Name, StreamState]) -> Registers:
        return {name: streams[name].time for name in self.sources}

    def _update(self, times: Registers) -> int | None:
        return register_of(self.sources, times).updates(self._update_us)

    def _is_at_end(self, times: Registers) -> bool:
        """True once all sources promise the update after the last row of any."""
        time = register_of(self.sources, times)
        last_us = time.next_update_us(self._update_us)
        return last_us is not None and time.reach_us(self._update_us) == last_us

    def _last(self, name: str) -> int:
        last = self._context.states[name].history.last
        return _BEFORE_ALL_UPDATES if last is None else last

    def _due(self, name: str, update: int, slices: Mapping[str, IntArray]) -> Iterator[Due]:
        """The window that ends with the update, of each length; none that is without rows."""
        end_us, every_us = update * self._update_us, self._update_us
        for range_us in self._queries[name].window.ranges_us:
            start_us = end_us - range_us
            if (stint := self._stint(name, start_us)) is None:
                continue
            basis = basis_id(stint.basis)
            low, high = np.searchsorted(slices[basis], [start_us, end_us])
            if low < high:
                yield Due((name,), basis, range_us, every_us, start_us, 1)

    def _has_begun(self, name: str, update: int) -> bool:
        end_us = update * self._update_us
        ranges_us = self._queries[name].window.ranges_us
        return any(self._stint(name, end_us - range_us) for range_us in ranges_us)

    def _stint(self, name: str, start_us: int) -> JointStint | None:
        stints = self._stints[name]
        return next((s for s in stints if s.from_us <= start_us < s.until_us), None)


def agendas_of(
    context: AgendaContext,
    streams: Mapping[Name, StreamState],
    updates_us: Mapping[Name, int],
    ahead: Mapping[tuple[Name, ...], int],
) -> tuple[Agenda, ...]:
    """One for each stream, and for all unions of the same streams that have soft queries.

    `updates_us` are those of the streams; a union has its own, which its queries name.
    """
    queries: dict[tuple[Name, ...], list[QueryPlan]] = {(name,): [] for name in updates_us}
    for query in context.plan.queries:
        if query.is_soft and Name(query.name) not in context.paused:
            queries.setdefault(source_names(query.relation), []).append(query)
    return tuple(
        Agenda(
            context,
            sources,
            several,
            streams,
            several[0].window.update_us if several else updates_us[sources[0]],
            ahead.get(sources, 0),
        )
        for sources, several in queries.items()
    )
