"""What queries wait for: of each the source, and the instant that it has to come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tidemill.arrays import IntArray
from tidemill.engine.tick.bases import Basis, bases_of, register_of
from tidemill.engine.tick.journal import QueryState, StreamState
from tidemill.engine.tick.stints import JointStint
from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name, source_names
from tidemill.plan.row_query import AnyQuery
from tidemill.schedule import NextWindow, Specs, first_open, next_instant, next_windows
from tidemill.schedule.askers import due_specs
from tidemill.share import SharedPlan
from tidemill.time import Register
from tidemill.windows import BEGINNING_US, WindowSpec


@dataclass(frozen=True)
class Wait:
    """A query's next answer comes once this source promises that nothing older will come."""

    source: Name
    until_us: int


@dataclass(frozen=True)
class Standing:
    """The plan and what has been committed: all that tells what queries wait for."""

    plan: SharedPlan
    streams: Mapping[Name, StreamState]
    queries: Mapping[str, QueryState]
    paused: AbstractSet[str] = frozenset()

    def waits(self) -> dict[Name, Wait]:
        """By query; nothing is said of those that nothing is held for, or that are paused."""
        first: dict[Name, tuple[AnyQuery, int]] = {}
        for query, until_us in self._instants():
            name = Name(query.name)
            if name not in first or until_us < first[name][1]:
                first[name] = query, until_us
        return {
            name: Wait(self._furthest_behind(query), until_us)
            for name, (query, until_us) in first.items()
        }

    def waits_on(self, source: Name) -> dict[frozenset[Name], int]:
        """The first instants at which promises of the source let something go, by the other sources
        that have to come so far too. What reads answers over the source waits for it as well."""
        first: dict[frozenset[Name], int] = {}
        sources, since_us = {source, *self.plan.answered_from(source)}, self._times[source].since_us
        for query, until_us in self._instants():
            names = frozenset(source_names(query.relation))
            # What the watermark has come to already waits for others.
            if names & sources and until_us > since_us and self._is_let_go(query, until_us):
                others = names - sources
                first[others] = min(until_us, first.get(others, until_us))
        return first

    def _furthest_behind(self, query: AnyQuery) -> Name:
        """The source of a query that has promised least."""
        times = {name: self._times[name] for name in source_names(query.relation)}
        return min(times, key=lambda name: times[name].since_us)

    def _is_let_go(self, query: AnyQuery, until_us: int) -> bool:
        """False if a query waits for rows: soft ones see no further than the last row's update."""
        if not isinstance(query, QueryPlan) or not query.is_soft:
            return True
        next_us = self._time_of(query).next_update_us(query.window.update_us)
        return next_us is not None and until_us <= next_us

    @cached_property
    def _times(self) -> dict[Name, Register]:
        return {stream: state.time for stream, state in self.streams.items()}

    def _time_of(self, query: AnyQuery) -> Register:
        return register_of(source_names(query.relation), self._times)

    def _instants(self) -> Iterator[tuple[AnyQuery, int]]:
        """Instants at which something that is held can be answered, or can leave."""
        versions = {stream: state.version for stream, state in self.streams.items()}
        for basis in bases_of(self.plan, filter(self._is_known, self.plan.queries)):
            yield from self._windows(basis, basis.slices(versions))
        for query in filter(self._is_known, self.plan.row_queries):
            # Rows leave once the watermark is beyond them; some of those that left are held on.
            since_us = self._time_of(query).since_us
            leave_us = [
                time_us + query.leaves_us(part)
                for part, feed in enumerate(self.plan.feeds_of(query.name))
                for piece in versions[source_name(feed.query.relation)].of(feed.id)
                for time_us in piece.slices
            ]
            waiting_us = [us for us in leave_us if us > since_us]
            if waiting_us and self._is_running(query):
                yield query, min(waiting_us)

    def _windows(self, basis: Basis, slices: IntArray) -> Iterator[tuple[QueryPlan, int]]:
        readers = [
            _Reader(query, stint, *member)
            for query, stint in (*basis.strict, *basis.soft)
            for member in due_specs(query)
            if self._is_running(query)
        ]
        times_us = [_answered_us(reader.query, self._time_of(reader.query)) for reader in readers]
        specs = Specs.delayed((reader.spec, reader.after_us) for reader in readers)
        first = np.maximum(first_open(specs, np.array(times_us)), _first_of_stints(specs, readers))
        windows = next_windows(specs, first, slices)
        for reader, answered_us, number, window in zip(
            readers, times_us, first.tolist(), windows, strict=True
        ):
            if self._answers_empty(reader.query):
                window = reader.window(number)
            if window is not None and reader.has(window):
                yield reader.query, reader.next_us(window, answered_us)

    def _answers_empty(self, query: QueryPlan) -> bool:
        """It answers windows without rows, and has met one with rows."""
        state = self.queries.get(query.name, QueryState())
        return query.emit.empty_windows and state.has_begun

    def _is_known(self, query: AnyQuery) -> bool:
        """True if all of its sources are among the streams."""
        return self.streams.keys() >= {*source_names(query.relation)}

    def _is_running(self, query: AnyQuery) -> bool:
        return Name(query.name) not in self.paused


@dataclass(frozen=True)
class _Reader:
    """A query with the windows of one length, and a stint of them."""

    query: QueryPlan
    stint: JointStint
    spec: WindowSpec
    after_us: int

    def window(self, number: int) -> NextWindow:
        """A window as if it had a row at its start."""
        start_us = self.spec.window_start(number)
        return NextWindow(start_us + self.spec.range_us, start_us)

    def has(self, window: NextWindow) -> bool:
        return window.end_us - self.spec.range_us < self.stint.until_us

    def next_us(self, window: NextWindow, answered_us: int) -> int:
        """The end of the window, or the next instant of an early answer."""
        every_us = self.query.emit.every_us
        if not every_us:
            return window.end_us + self.after_us
        since_us = max(window.row_us, answered_us)
        return min(window.end_us, next_instant(every_us, self.query.window.start_us, since_us))


def _answered_us(query: QueryPlan, time: Register) -> int:
    """The time up to which windows of the query have been closed."""
    until_us = time.reach_us(query.window.update_us) if query.is_soft else time.watermark_us
    return BEGINNING_US if until_us is None else until_us


def _first_of_stints(specs: Specs, readers: list[_Reader]) -> np.ndarray:
    """The number of the first window of each stint."""
    from_us = np.array([reader.stint.from_us for reader in readers], dtype=np.int64)
    return -((specs.start_us - from_us) // specs.slide_us)
