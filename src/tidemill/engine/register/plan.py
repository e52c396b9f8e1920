"""The plan of all queries, and what it is decided by: settings, samples, how streams stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tidemill.catalog import Catalog, Stream
from tidemill.connect.sources import AnySource
from tidemill.engine.tick.journal import StreamState
from tidemill.explain.replies import Message
from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
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
)
from tidemill.share.feeds import scan_of
from tidemill.share.weave import MachineCosts, Machines
from tidemill.spark.on_demand import AskSession
from tidemill.spark.sampling import SAMPLED_BYTES, take_sample
from tidemill.state.feed import Feed, Scan
from tidemill.words import instant

Load = Callable[[Name], StreamState]


@dataclass
class Planner:
    """Plans with what is known of the streams; samples are taken when they can decide something."""

    load: Load
    open_source: Callable[[Stream], AnySource]
    session: AskSession
    machines: Machines = field(default_factory=Machines)
    samples: dict[Name, Sample] = field(default_factory=dict)
    # What was estimated from a sample is worth keeping as long as the sample is.
    _costs: dict[Name, EngineCosts] = field(default_factory=dict)

    def change(
        self,
        plan: SharedPlan,
        catalog: Catalog,
        queries: Sequence[QueryPlan],
        settings: Settings | None = None,
    ) -> SharedPlan:
        """The plan for these queries; made anew if the `settings` before shared otherwise."""

        def around(stream: Name) -> tuple[StreamPosition, Context]:
            self._sample(catalog, stream, queries)
            return self.position(stream), self.context(stream, catalog)

        changed = change_plan(plan, queries, around)
        if settings is not None and _sharing(settings) != _sharing(catalog.settings):
            for stream in changed.streams:
                changed = rebuild_plan(changed, stream, around)
        return changed

    def at_rate(
        self, plan: SharedPlan, stream: Name, rows_per_second: float, catalog: Catalog
    ) -> SharedPlan:
        """The plan for another rate of input: only trees of windows depend on it."""
        if catalog.settings.sharing != "weave":
            return plan
        sample = self.samples.get(stream, Sample())
        self.samples[stream] = replace(sample, rows_per_second=rows_per_second)
        return rebuild_plan(
            plan, stream, lambda name: (self.position(name), self.context(name, catalog))
        )

    def feeds(self, plan: SharedPlan, stream: Name, catalog: Catalog) -> tuple[Feed, ...]:
        context = self.context(stream, catalog)
        return arrange_feeds(plan.of_stream(stream), context.settings, context.costs)

    def all_feeds(self, plan: SharedPlan, catalog: Catalog) -> dict[Name, tuple[Feed, ...]]:
        """By stream."""
        return {stream: self.feeds(plan, stream, catalog) for stream in plan.streams}

    def all_costs(self, plan: SharedPlan, catalog: Catalog) -> dict[Name, EngineCosts]:
        """By stream."""
        return {stream: self.context(stream, catalog).costs for stream in plan.streams}

    def position(self, stream: Name) -> StreamPosition:
        state = self.load(stream)
        return StreamPosition(
            state.time.newest_us, state.time.watermark_us, state.version.complete_from
        )

    def context(self, stream: Name, catalog: Catalog) -> Context:
        sample = self.samples.setdefault(stream, Sample())
        machine, costs = self._machine(stream, catalog), self._costs.get(stream)
        if costs is None or costs.sample is not sample or costs.machine != machine:
            self._costs[stream] = costs = EngineCosts(sample, machine)
        return Context(catalog.settings, costs)

    def _machine(self, stream: Name, catalog: Catalog) -> MachineCosts:
        """The figures of the route that rows will take, as far as that is known by now."""
        route = planned_route(catalog.stream(stream), catalog.settings.scan)
        return self.machines.arrays if route == COLUMNAR else self.machines.catalyst

    def announce(self, before: SharedPlan, plan: SharedPlan) -> Iterable[Message]:
        """For each query that joins a stream under way, where it begins."""
        for query in plan.queries:
            if not before.stands(query) and (first := self.first_window(plan, query)):
                yield Message(f"query {query.name}: its first window starts at {first}")

    def first_window(self, plan: SharedPlan, query: QueryPlan) -> str | None:
        """Start of a query's first window; None: as the stream begins."""
        position, stint = self.position(source_name(query.relation)), plan.stints[query.name][0]
        if position.newest_us is None:
            return None
        since_us, watermark_us = stint.from_us, position.watermark_us
        return instant(min(first_window(s, since_us, watermark_us) for s in specs_of(query)))

    def _sample(self, catalog: Catalog, stream: Name, queries: Sequence[QueryPlan]) -> None:
        """Look at some rows, if there are any and more than one way to share them."""
        readers = [query for query in queries if source_name(query.relation) == stream]
        if not readers:
            return
        scan = scan_of(readers)
        standing = self.samples.get(stream, Sample())
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
        self.samples[stream] = replace(sample, rows_per_tick=rows)


def _can_differ(queries: Sequence[QueryPlan], scan: Scan) -> bool:
    """Whether there is more than one way to share: other keys, conditions or slides."""
    keys = {frozenset(key.scalar.sql for key in query.keys) for query in queries}
    slides = {spec.slide_us for query in queries for spec in specs_of(query)}
    return max(len(keys), len(scan.predicates), len(slides)) > 1


def _sharing(settings: Settings) -> tuple[str, str]:
    return settings.sharing, settings.steps_off
