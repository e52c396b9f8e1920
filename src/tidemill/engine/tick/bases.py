"""Bases: the synopses that windows are answered from, one for each part of their queries.

Of a query over one source the basis is one synopsis. Over a union it has one of each branch:
its slices are those of all of them, and its time is that of the source that is furthest behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tidemill.arrays import IntArray
from tidemill.engine.tick.stints import JointStint, basis_id, joint_stints_of
from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name, source_names
from tidemill.schedule import Specs, oldest_needed
from tidemill.schedule.askers import Asker, askers_of, due_specs
from tidemill.share import SharedPlan, specs_of
from tidemill.state.store import Version
from tidemill.time import Register
from tidemill.windows import BEGINNING_US, END_US, WindowSpec

Registers = Mapping[Name, Register]
"""By stream, how far its time has come."""
Versions = Mapping[Name, Version]
"""By stream, the pieces of its synopses."""
BasisReaders = tuple[tuple[QueryPlan, JointStint], ...]


def register_of(sources: Iterable[Name], times: Registers) -> Register:
    """The register of a stream with rows of these sources."""
    return Register.of_all(times[source] for source in sources)


def final_us_of(
    sources: Iterable[Name], times: Registers, corrects: Mapping[Name, int]
) -> int | None:
    """Windows over rows of these sources that end by then are answered for good: no row of any
    source that is to come corrects them."""
    marks = {name: times[name].watermark_us for name in sources}
    finals = {
        name: None if mark_us is None else mark_us - corrects.get(name, 0)
        for name, mark_us in marks.items()
    }
    return least_final_us(finals, finals)


def least_final_us(sources: Iterable[Name], finals: Mapping[Name, int | None]) -> int | None:
    """The least of these sources' finals; None while one of them has none."""
    several = [finals[name] for name in sources]
    known = [final_us for final_us in several if final_us is not None]
    return min(known) if len(known) == len(several) else None


def over_us_of(
    sources: Iterable[Name],
    update_us: int,
    before_us: int,
    times: Registers,
    corrects: Mapping[Name, int],
) -> int | None:
    """Windows over rows of these sources that end by then are of no more use: they are answered
    for good, and so are those that end so much later, whose answers are compared with theirs; soft
    queries, whose updates are so long, have seen a later one."""
    if not update_us:
        final_us = final_us_of(sources, times, corrects)
        return None if final_us is None else final_us - before_us
    reach_us = register_of(sources, times).reach_us(update_us)
    return None if reach_us is None else reach_us - update_us


@dataclass(frozen=True)
class TickSpan:
    """The watermark before a tick and after it; of a flush also the newest row."""

    after_us: int | None
    until_us: int
    newest_us: int | None = None

    @property
    def is_flush(self) -> bool:
        return self.newest_us is not None

    def last_end_us(self, spec: WindowSpec) -> int:
        """No window that the tick closes ends later."""
        if self.newest_us is None:
            return self.until_us
        started = (self.newest_us - spec.start_us) // spec.slide_us
        return min(spec.window_start(started) + spec.range_us, self.until_us)


@dataclass(frozen=True)
class Basis:
    """Synopses with the streams of their rows, and the queries that are answered from them."""

    synopses: tuple[str, ...]
    sources: tuple[Name, ...]  # of each synopsis
    strict: BasisReaders
    specs: Specs  # their distinct windows
    soft: BasisReaders

    def askers(self, paused: frozenset[str]) -> tuple[Asker, ...]:
        """Those of strict queries that are not paused."""
        return askers_of(basis_id(self.synopses), self.strict, self.specs, paused)

    def of_readers(self, readers: BasisReaders) -> Basis:
        """The same for some of its strict queries alone."""
        return Basis(self.synopses, self.sources, readers, _specs_of(readers), ())

    def slices(self, versions: Versions) -> IntArray:
        """Starts of the slices with rows of any part, ascending."""
        runs = {
            key: versions[source].slices(key)
            for key, source in zip(self.synopses, self.sources, strict=True)
        }
        return reduce(np.union1d, runs.values())

    def span(self, before: Registers, after: Registers, flush: bool) -> TickSpan | None:
        """How far a tick takes the time of the basis; None if it has none yet."""
        if flush and len(set(self.sources)) == 1:
            return self.last_span(before, after)
        closed_us, come = self._before_us(before), register_of(self.sources, after)
        if come.watermark_us is None:
            return None
        # Beyond the newest row of all, every source has been flushed.
        is_last = flush and come.newest_us is not None and come.newest_us < come.watermark_us
        return TickSpan(closed_us, come.watermark_us, come.newest_us if is_last else None)

    def last_span(self, before: Registers, after: Registers) -> TickSpan:
        """How far a flush of all sources takes it: over all windows that have begun."""
        newest_us = register_of(self.sources, after).newest_us
        newest_us = BEGINNING_US if newest_us is None else newest_us
        return TickSpan(self._before_us(before), END_US, newest_us)

    def _before_us(self, before: Registers) -> int | None:
        return register_of(self.sources, before).watermark_us


def bases_with(plan: SharedPlan, stream: Name) -> tuple[Basis, ...]:
    """The bases that have some synopsis of the stream."""
    key = "bases", stream
    if key not in plan.memo:
        plan.memo[key] = bases_of(plan, plan.queries_of(stream))
    bases: tuple[Basis, ...] = plan.memo[key]
    return bases


def bases_of(plan: SharedPlan, queries: Iterable[QueryPlan]) -> tuple[Basis, ...]:
    """What windows of the queries are answered from."""
    readers: dict[tuple[str, ...], list[tuple[QueryPlan, JointStint]]] = {}
    for query in queries:
        for stint in joint_stints_of(plan, query.name):
            readers.setdefault(stint.basis, []).append((query, stint))
    return tuple(_basis(plan, synopses, several) for synopses, several in readers.items())


def _basis(
    plan: SharedPlan, synopses: tuple[str, ...], readers: Sequence[tuple[QueryPlan, JointStint]]
) -> Basis:
    sources = tuple(source_name(plan.synopsis(key).relation) for key in synopses)
    strict = tuple(reader for reader in readers if not reader[0].is_soft)
    soft = tuple(reader for reader in readers if reader[0].is_soft)
    return Basis(synopses, sources, strict, _specs_of(strict), soft)


def _specs_of(readers: BasisReaders) -> Specs:
    """Their windows, each once."""
    return Specs.delayed(dict.fromkeys(spec for query, _ in readers for spec in due_specs(query)))


@dataclass(frozen=True)
class Keeper:
    """Windows for which a synopsis keeps its slices, and the sources by whose time they close."""

    sources: tuple[Name, ...]
    specs: Specs
    corrects: Mapping[Name, int]  # by how much late rows correct, by stream
    update_us: int = 0  # of soft queries
    before_us: int = 0  # of those that compare answers

    def horizon_us(self, times: Registers) -> int:
        """Slices that start before this are of no more use to them."""
        periods = self.update_us, self.before_us
        over_us = over_us_of(self.sources, *periods, times, self.corrects)
        return BEGINNING_US if over_us is None else oldest_needed(self.specs, over_us)


def keepers_of(
    plan: SharedPlan, synopses: Iterable[str], corrects: Mapping[Name, int]
) -> dict[str, tuple[Keeper, ...]]:
    """By synopsis, all that it keeps slices for."""
    return {key: _keepers(plan, key, corrects) for key in dict.fromkeys(synopses)}


def _keepers(
    plan: SharedPlan, synopsis_id: str, corrects: Mapping[Name, int]
) -> tuple[Keeper, ...]:
    specs: dict[tuple[tuple[Name, ...], int, int], dict[WindowSpec, None]] = {}
    for part, _ in plan.readers_of(plan.synopsis(synopsis_id)):
        query = plan.query(part.owner)
        update_us = part.window.update_us if part.is_soft else 0
        periods = source_names(query.relation), update_us, query.before_us
        specs.setdefault(periods, {}).update(dict.fromkeys(specs_of(part)))
    return tuple(
        Keeper(sources, Specs.of(windows), corrects, update_us, before_us)
        for (sources, update_us, before_us), windows in specs.items()
    )


def beside(plan: SharedPlan, stream: Name) -> tuple[Name, ...]:
    """The other streams whose rows some query puts together with those of this one, or with
    those of such another."""
    joined = [set(names) for names in {source_names(q.relation) for q in plan.every_query}]
    together = {stream}
    while more := {name for names in joined if names & together for name in names} - together:
        together |= more
    return tuple(sorted(together - {stream}))
