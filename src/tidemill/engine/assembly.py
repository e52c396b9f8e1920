"""The runners of the standing streams, put together from the registry and what is around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from tidemill.answer.task import AnswerFolders
from tidemill.clock import Clock
from tidemill.connect.handovers import HandoverLedger
from tidemill.connect.sinks import SinkWriter, distinct_writers
from tidemill.connect.sources.recorded import RecordedSource
from tidemill.connect.sources.recordings import RecordedClock
from tidemill.engine.beside.agenda import AgendaContext, agendas_of
from tidemill.engine.beside.one_time import OneTimeAnswerer
from tidemill.engine.beside.runs import Pins
from tidemill.engine.beside.selects import WaitingSelects
from tidemill.engine.register.registry import Registry
from tidemill.engine.subscribers import Subscribers
from tidemill.engine.tick.context import AnswerContext, DecideContext, FoldContext, TickContext
from tidemill.engine.tick.handover import sides_read
from tidemill.engine.tick.journal import Journal, StreamState
from tidemill.engine.tick.runner import StreamRunner
from tidemill.failpoints import armed
from tidemill.language.names import Name
from tidemill.plan.relation import source_name
from tidemill.share import SharedPlan
from tidemill.spark.on_demand import SparkOnDemand
from tidemill.state.row_pieces import RowFeed
from tidemill.state.synopsis import Synopsis

# Of tasks for each core, so that large and small ones even out.
_TASKS_PER_CORE = 2


def _open_row_feeds(plan: SharedPlan, paused: AbstractSet[str]) -> dict[Name, tuple[RowFeed, ...]]:
    """By stream, those whose rows are wanted: paused, only one that holds them may want some."""
    return {
        stream: tuple(
            feed
            for feed in plan.rows_of(stream)
            if feed.query.ordered or Name(feed.query.owner) not in paused
        )
        for stream in plan.streams
    }


class Facts(Protocol):
    def fixed(self, name: str, value: int) -> int:
        """A number settled once; later values are ignored."""


def settle_buckets(
    facts: Facts, synopses: Sequence[Synopsis], setting: int, cores: int
) -> dict[str, int]:
    """The number of buckets, by synopsis; a setting of 0 leaves it to the machine."""
    streams = Counter(source_name(synopsis.relation) for synopsis in synopses)
    return {
        synopsis.id: facts.fixed(
            f"buckets of {synopsis.id}",
            setting or _fitting_buckets(synopsis, streams[source_name(synopsis.relation)], cores),
        )
        for synopsis in synopses
    }


def _fitting_buckets(synopsis: Synopsis, beside: int, cores: int) -> int:
    """Enough that there is work for every core, and no more.

    A question is asked once of each bucket, and what buckets choose has to be put together; with
    many synopses the cores have work without that.
    """
    if not synopsis.keys:
        return 1
    return min(cores, -(-_TASKS_PER_CORE * cores // beside))


@dataclass(frozen=True)
class Assembly:
    """Everything that runners are made of; they follow the plan that stands when they are made."""

    registry: Registry
    spark: SparkOnDemand
    clock: Clock
    subscribers: Subscribers
    selects: WaitingSelects
    one_time: OneTimeAnswerer
    recorded: RecordedClock

    def runners(self, before: Iterable[StreamRunner] = ()) -> list[StreamRunner]:
        """One for each stream that some query reads; they go on where those before them end."""
        registry, journal = self.registry, Journal(self.registry.home.open())
        sinks = registry.outlets.standing(registry.catalog)
        for writer in distinct_writers(sinks.values()):
            writer.recover()
        streams = {name: journal.load(name) for name in registry.plan.streams}
        standing = {runner.stream.key: runner for runner in before}
        ahead = {a.sources: a.ahead for runner in standing.values() for a in runner.agendas}
        context = self._tick_context(journal, streams, sinks, self._buckets(journal), ahead)
        sources = [
            (stream, registry.planner.open_source(stream))
            for stream in registry.registered.streams()
        ]
        self.recorded.play(
            {
                stream.key: source.played(streams[stream.key].position)
                for stream, source in sources
                if isinstance(source, RecordedSource)
            }
        )
        return [
            StreamRunner(context, stream, source, standing.get(stream.key))
            for stream, source in sources
        ]

    def finish_interrupted(self) -> None:
        """Finish a tick that was cut off after its decision, under the plan it began with.

        One that had decided nothing is given up; its input is taken again under the next plan.
        """
        if not self.registry.home.exists:
            return
        journal = Journal(self.registry.home.open())
        streams = self.registry.plan.streams
        for stream in streams:
            journal.abandon_undecided(stream)
        if any(journal.unfinished(stream) for stream in streams):
            for runner in self.runners():
                runner.recover()

    def _buckets(self, journal: Journal) -> dict[str, int]:
        setting = self.registry.catalog.settings.buckets
        return settle_buckets(journal, self.registry.plan.synopses, setting, self.spark.cores)

    def _tick_context(
        self,
        journal: Journal,
        streams: dict[Name, StreamState],
        sinks: Mapping[str, SinkWriter],
        buckets: Mapping[str, int],
        ahead: Mapping[tuple[Name, ...], int],
    ) -> TickContext:
        plan, catalog, home = self.registry.plan, self.registry.catalog, self.registry.home
        registry, planner, failpoint = self.registry, self.registry.planner, armed()
        states = registry.queries
        updates_us = {s.key: s.update_us for s in registry.registered.streams()}
        settings, paused, costs = catalog.settings, catalog.paused, planner.all_costs(plan, catalog)
        return TickContext(
            plan=plan,
            settings=settings,
            paused=paused,
            advances=lambda: registry.catalog.advances,
            home=home,
            journal=journal,
            clock=self.clock,
            streams=streams,
            pins=Pins(),
            fold=FoldContext(
                session=self.spark,
                home=home,
                journal=journal,
                scan=settings.scan,
                feeds=planner.all_feeds(plan, catalog),
                row_feeds=_open_row_feeds(plan, paused),
                tables=self.registry.tables.frame,
                buckets=buckets,
                failpoint=failpoint,
                sides={name: sides_read(name, plan) for name in plan.streams},
            ),
            decide=DecideContext(
                plan,
                paused,
                buckets,
                settings.snapshot_pieces,
                settings.most_empty_windows,
                states,
                home.synopses,
                {stream.key: stream.correct_us for stream in self.registry.registered.streams()},
            ),
            answer=AnswerContext(
                session=self.spark,
                plan=plan,
                paused=paused,
                folders=AnswerFolders(home.synopses, home.staging, failpoint),
                buckets=buckets,
                snapshot_pieces=settings.snapshot_pieces,
                most_result_rows=settings.most_result_rows,
                sinks=sinks,
                subscribers=self.subscribers,
                states=states,
                handovers=HandoverLedger(home.open(), home.handovers),
            ),
            agendas=agendas_of(
                AgendaContext(plan, paused, settings.schedule, costs, states, self.selects),
                streams,
                updates_us,
                ahead,
            ),
            one_time=self.one_time,
        )
