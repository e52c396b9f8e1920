"""The plan of all queries, and what it is decided by: settings, samples, how streams stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tidemill.catalog import Catalog, Stream
from tidemill.connect.sources import AnySource
from tidemill.engine.register.learned import Declared
from tidemill.engine.tick.bases import Registers, register_of
from tidemill.engine.tick.journal import StreamState
from tidemill.engine.tick.stints import joint_stints_of
from tidemill.explain.replies import Message
from tidemill.language import render
from tidemill.language.names import Name
from tidemill.language.statements import CreateAnswerStream, CreateStream
from tidemill.plan.bind.branch import source_of
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name, source_names
from tidemill.plan.row_query import AnyQuery
from tidemill.scan.routes import COLUMNAR, planned_route
from tidemill.settings import Settings
from tidemill.share import (
    Context,
    EngineCosts,
    Sample,
    SharedPlan,
    StreamPosition,
    arrange_feeds,
    change_plan,
    first_window,
    rebuild_plan,
    specs_of,
    windowed,
    with_row_queries,
)
from tidemill.share.feeds import counting_feed, scan_of
from tidemill.share.weave import MachineCosts, Machines
from tidemill.spark.on_demand import AskSession
from tidemill.spark.sampling import SAMPLED_BYTES, take_sample
from tidemill.state.feed import Feed, Scan
from tidemill.words import instant

Load = Callable[[Name], StreamState]
Keep = Callable[[Declared, Sample], None]
# Of a stream that nobody has seen.
_NO_SAMPLE = Sample()
_NOTHING = _NO_SAMPLE, EngineCosts(_NO_SAMPLE)


@dataclass
class Planner:
    """Plans with what is known of the streams; samples are taken when they can decide something."""

    load: Load
    open_source: Callable[[Stream], AnySource]
    session: AskSession
    keep: Keep  # what was learned, for another run
    machines: Machines = field(default_factory=Machines)
    samples: dict[Declared, Sample] = field(default_factory=dict)
    # What was estimated from a sample is worth keeping as long as the sample is.
    _costs: dict[Name, tuple[Sample, EngineCosts]] = field(default_factory=dict)

    def change(
        self,
        plan: SharedPlan,
        catalog: Catalog,
        queries: Sequence[AnyQuery],
        settings: Settings | None = None,
    ) -> SharedPlan:
        """The plan for these queries; made anew if the `settings` before shared otherwise."""
        sharing = windowed(queries)
        parts = _parts(sharing)

        def around(stream: Name) -> tuple[StreamPosition, Context]:
            self._sample(catalog, stream, parts)
            return self.position(stream), self.context(stream, catalog, plan)

        changed = change_plan(plan, sharing, around)
        if settings is not None and _sharing(settings) != _sharing(catalog.settings):
            for stream in changed.shared_streams:
                changed = rebuild_plan(changed, stream, around)
        return with_row_queries(changed, queries)

    def feeds(self, plan: SharedPlan, stream: Name, catalog: Catalog) -> tuple[Feed, ...]:
        """The feeds of a stream's synopses, or one that just counts its rows."""
        context = self.context(stream, catalog, plan)
        feeds = arrange_feeds(plan.of_stream(stream), context.settings, context.costs)
        return feeds or (counting_feed(source_of(catalog.stream(stream))),)

    def all_feeds(self, plan: SharedPlan, catalog: Catalog) -> dict[Name, tuple[Feed, ...]]:
        """By stream."""
        return {stream: self.feeds(plan, stream, catalog) for stream in plan.streams}

    def all_costs(self, plan: SharedPlan, catalog: Catalog) -> dict[Name, EngineCosts]:
        """By stream."""
        return {stream: self.context(stream, catalog, plan).costs for stream in plan.streams}

    def position(self, stream: Name) -> StreamPosition:
        state = self.load(stream)
        return StreamPosition(
            state.time.newest_us, state.time.watermark_us, state.version.complete_from
        )

    def context(self, stream: Name, catalog: Catalog, plan: SharedPlan) -> Context:
        """By the rate that the plan goes by, and the sample's until one has been measured."""
        sample = self._sample_of(catalog, stream)
        rate = plan.rate_of(stream) or sample.rows_per_second
        machine, (basis, costs) = self._machine(stream, catalog), self._costs.get(stream, _NOTHING)
        if basis is not sample or (costs.machine, costs.sample.rows_per_second) != (machine, rate):
            costs = EngineCosts(replace(sample, rows_per_second=rate), machine)
            self._costs[stream] = sample, costs
        return Context(catalog.settings, costs)

    def _sample_of(self, catalog: Catalog, stream: Name) -> Sample:
        return self.samples.get(declaration_of_stream(catalog, stream), _NO_SAMPLE)

    def _machine(self, stream: Name, catalog: Catalog) -> MachineCosts:
        """The figures of the route that rows will take, as far as that is known by now."""
        route = planned_route(catalog.stream(stream), catalog.settings.scan)
        return self.machines.arrays if route == COLUMNAR else self.machines.catalyst

    def announce(self, before: SharedPlan, plan: SharedPlan) -> Iterable[Message]:
        """For each query that joins a stream under way, where it begins."""
        times = {stream: self.load(stream).time for stream in plan.streams}
        for query in plan.queries:
            if not before.stands(query) and (first := self.first_window(plan, query, times)):
                yield Message(f"query {query.name}: its first window starts at {first}")
        for rows in plan.row_queries:
            time = register_of(source_names(rows.relation), times)
            if not before.stands(rows) and time.newest_us is not None:
                yield Message(f"query {rows.name}: its first rows come with the next tick")

    def first_window(
        self, plan: SharedPlan, query: QueryPlan, times: Registers | None = None
    ) -> str | None:
        """Start of a query's first window; None: as the stream begins."""
        sources = source_names(query.relation)
        if times is None:
            times = {stream: self.load(stream).time for stream in sources}
        time = register_of(sources, times)
        if time.newest_us is None:
            return None
        since_us = joint_stints_of(plan, query.name)[0].from_us
        return instant(min(first_window(s, since_us, time.watermark_us) for s in specs_of(query)))

    def renew_samples(self, catalog: Catalog, queries: Sequence[AnyQuery]) -> None:
        """Takes those that are lost, or of streams that have been declared otherwise."""
        parts = _parts(windowed(queries))
        for stream in dict.fromkeys(source_name(part.relation) for part in parts):
            if declaration_of_stream(catalog, stream) not in self.samples:
                self._sample(catalog, stream, parts)

    def samples_of(self, catalog: Catalog) -> dict[Declared, Sample]:
        """Those of streams as they are declared now."""
        streams = [
            declaration_of_stream(catalog, stream.name) for stream in catalog.of_kind("stream")
        ]
        return {key: self.samples[key] for key in streams if key in self.samples}

    def _sample(self, catalog: Catalog, stream: Name, parts: Sequence[QueryPlan]) -> None:
        """Look at some rows, if there are any and more than one way to share them."""
        readers = [part for part in parts if source_name(part.relation) == stream]
        if not readers:
            return
        scan = scan_of(readers)
        standing = self._sample_of(catalog, stream)
        if not _can_differ(readers, scan):
            return
        if standing.knows_enough([key.sql for key in scan.keys], scan.predicates):
            return
        source = self.open_source(catalog.stream(stream))
        few_bytes = min(SAMPLED_BYTES, catalog.settings.tick_bytes)
        portion = source.any_input(replace(catalog.settings, tick_bytes=few_bytes))
        if portion is None:
            return
        sample = take_sample(self.session, catalog.stream(stream), source, portion, scan)
        rows = source.rows_per_tick(catalog.settings)
        sample = replace(sample, rows_per_tick=rows)
        self.samples[declaration_of_stream(catalog, stream)] = sample
        self.keep(declaration_of_stream(catalog, stream), sample)


def _can_differ(queries: Sequence[QueryPlan], scan: Scan) -> bool:
    """True if there is more than one way to share: other keys, conditions or slides."""
    keys = {frozenset(key.scalar.sql for key in query.keys) for query in queries}
    slides = {spec.slide_us for query in queries for spec in specs_of(query)}
    return max(len(keys), len(scan.predicates), len(slides)) > 1


def _parts(queries: Sequence[QueryPlan]) -> list[QueryPlan]:
    """What queries read of each source."""
    return [part for query in queries for part in query.by_source]


def declaration_of_stream(catalog: Catalog, stream: str) -> Declared:
    """The stream and its declaration: what was learned is good for no other."""
    definition = catalog.definition("stream", stream)
    if not isinstance(definition, CreateStream | CreateAnswerStream):
        return Name(stream), ""
    return Name(stream), render(definition)


def _sharing(settings: Settings) -> tuple[str, str]:
    return settings.sharing, settings.steps_off
