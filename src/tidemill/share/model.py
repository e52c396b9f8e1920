"""The shared plan: every standing query, the synopses behind them, and who reads what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from tidemill.aggregates import Lane, lanes_behind
from tidemill.language.names import Name, answered_by, set_aside_by
from tidemill.language.statements import Window
from tidemill.plan.predicates import ALL_ROWS, Reading
from tidemill.plan.query import AggregateCall, QueryPlan
from tidemill.plan.relation import Relation, multiplying, source_name, source_names
from tidemill.plan.row_query import AnyQuery, RowQuery
from tidemill.share.drift import CostPoints
from tidemill.state.row_pieces import RowFeed
from tidemill.state.synopsis import Synopsis
from tidemill.windows import BEGINNING_US, END_US, WindowSpec


@dataclass(frozen=True)
class Stint:
    """A stretch of a query's windows that is answered from one synopsis.

    Its windows start in `[from_us, until_us)`. A query has several while it moves from one
    plan to another: each window is answered once, from where all of its rows are.
    """

    synopsis_id: str
    reading: Reading = ALL_ROWS
    from_us: int = BEGINNING_US
    until_us: int = END_US


@dataclass(frozen=True)
class NamedGroup:
    """Queries that read one synopsis, by name, and whether it keeps cells by condition."""

    queries: tuple[str, ...]
    routed: bool = False


@dataclass(frozen=True)
class RatePlan:
    """The groups of a stream's queries for one range of input rates; none yet: to be made."""

    band: int  # the number of the range
    rows_per_second: float  # that the groups were made for
    groups: tuple[NamedGroup, ...] = ()
    points: CostPoints = ()

    def only(self, names: Collection[str]) -> RatePlan:
        """Without the queries of other names."""
        groups = (
            replace(group, queries=tuple(q for q in group.queries if q in names))
            for group in self.groups
        )
        return replace(self, groups=tuple(group for group in groups if group.queries))


@dataclass(frozen=True)
class RatePlans:
    """The range of rates that a stream's plan is for, and its plans for others."""

    band: int
    rows_per_second: float
    others: tuple[RatePlan, ...] = ()

    def only(self, names: Collection[str]) -> RatePlans:
        return replace(self, others=tuple(other.only(names) for other in self.others))


@dataclass(frozen=True)
class SharedPlan:
    """All standing queries and the synopses behind them, at one version.

    `queries` have windows and `row_queries` have none. What they read of each source are their
    parts; a query over one source is a part itself. Stints and feeds are those of parts.
    """

    version: int = 0
    queries: tuple[QueryPlan, ...] = ()
    synopses: tuple[Synopsis, ...] = ()
    stints: Mapping[str, tuple[Stint, ...]] = field(default_factory=dict)  # by part
    next_synopsis: int = 1
    # By stream: numbers of queries and costs of the last plans that were made anew.
    rebuild_costs: Mapping[Name, CostPoints] = field(default_factory=dict)
    rates: Mapping[Name, RatePlans] = field(default_factory=dict)  # by stream, once measured
    row_queries: tuple[RowQuery, ...] = ()
    row_feeds: tuple[RowFeed, ...] = ()

    def query(self, name: str) -> QueryPlan:
        return self._by_name[name]

    @cached_property
    def every_query(self) -> tuple[AnyQuery, ...]:
        """With a window or without."""
        return (*self.queries, *self.row_queries)

    @cached_property
    def parts(self) -> tuple[QueryPlan, ...]:
        """What queries with windows read of each source."""
        return tuple(part for query in self.queries for part in query.by_source)

    def stands(self, query: AnyQuery) -> bool:
        """Says whether the query stands in the plan, exactly as it is, its parts included."""
        return self._any_by_name.get(query.name) == query

    def synopsis(self, synopsis_id: str) -> Synopsis:
        return self._by_id[synopsis_id]

    def synopsis_of(self, query: str) -> Synopsis:
        """The synopsis that the newest windows of a part are answered from."""
        return self.synopsis(self.stints[query][-1].synopsis_id)

    def readers_of(
        self, synopsis: Synopsis, soft: bool | None = None
    ) -> tuple[tuple[QueryPlan, Stint], ...]:
        """All parts that read it, or just the soft ones, or just the others."""
        readers = self._readers.get(synopsis.id, ())
        return readers if soft is None else tuple(r for r in readers if r[0].is_soft == soft)

    def rate_of(self, stream: Name) -> float | None:
        """The measured rate that the stream's plan goes by; None before there is one."""
        rates = self.rates.get(stream)
        return None if rates is None else rates.rows_per_second

    def of_stream(self, stream: Name) -> tuple[Synopsis, ...]:
        return tuple(s for s in self.synopses if source_name(s.relation) == stream)

    def parts_of(self, stream: Name) -> tuple[QueryPlan, ...]:
        return self._by_stream.get(stream, ())

    def moving_of(self, stream: Name) -> tuple[QueryPlan, ...]:
        """The parts of a stream with a stint that ends."""
        return self._moving.get(stream, ())

    def queries_of(self, stream: Name) -> tuple[QueryPlan, ...]:
        """Those with a window that read the stream, also by a part."""
        owners = dict.fromkeys(part.owner for part in self.parts_of(stream))
        return tuple(self._by_name[name] for name in owners)

    @cached_property
    def handed_over(self) -> tuple[Name, ...]:
        """The streams that are read whose rows come from the ticks of others."""
        answered = (answered_by(query.name) for query in self.queries)
        sides = (name for name in self.streams if set_aside_by(name))
        return tuple(dict.fromkeys((*filter(None, answered), *sides)))

    def answered_from(self, stream: Name) -> tuple[Name, ...]:
        """The streams whose rows are answers over the stream, at once or by way of others."""
        streams = [name for query in self.queries_of(stream) if (name := answered_by(query.name))]
        return tuple(name for each in streams for name in (each, *self.answered_from(each)))

    def row_query(self, name: str) -> RowQuery | None:
        """The query of this name, if it has no window."""
        query = self._any_by_name.get(name)
        return query if isinstance(query, RowQuery) else None

    def rows_of(self, stream: Name) -> tuple[RowFeed, ...]:
        """Of the stream, what queries without windows read."""
        return tuple(f for f in self.row_feeds if source_name(f.query.relation) == stream)

    def feeds_of(self, query: str) -> tuple[RowFeed, ...]:
        """What a row query reads, of each source."""
        return tuple(feed for feed in self.row_feeds if feed.query.owner == query)

    @cached_property
    def streams(self) -> tuple[Name, ...]:
        """The streams that queries read, in the order of these; what one sets aside comes of its
        own ticks, so it is read too."""
        relations = (query.relation for query in self.every_query)
        sources = (name for each in relations for name in source_names(each))
        return tuple(dict.fromkeys(name for source in sources for name in _with_base(source)))

    @property
    def shared_streams(self) -> tuple[Name, ...]:
        """Those that have queries with windows."""
        return tuple(self._by_stream)

    @cached_property
    def _by_stream(self) -> dict[Name, tuple[QueryPlan, ...]]:
        queries: dict[Name, list[QueryPlan]] = {}
        for query in self.parts:
            queries.setdefault(source_name(query.relation), []).append(query)
        return {stream: tuple(several) for stream, several in queries.items()}

    @cached_property
    def memo(self) -> dict[tuple[str, Name], Any]:
        """What later stages have worked out of the plan and a stream, so that it is done once."""
        return {}

    @cached_property
    def _moving(self) -> dict[Name, tuple[QueryPlan, ...]]:
        return {
            stream: tuple(
                query
                for query in queries
                if any(stint.until_us != END_US for stint in self.stints[query.name])
            )
            for stream, queries in self._by_stream.items()
        }

    @cached_property
    def _by_name(self) -> dict[str, QueryPlan]:
        return {query.name: query for query in self.queries}

    @cached_property
    def _any_by_name(self) -> dict[str, AnyQuery]:
        return {query.name: query for query in (*self.parts, *self.every_query)}

    @cached_property
    def _by_id(self) -> dict[str, Synopsis]:
        return {synopsis.id: synopsis for synopsis in self.synopses}

    @cached_property
    def _readers(self) -> dict[str, tuple[tuple[QueryPlan, Stint], ...]]:
        readers: dict[str, list[tuple[QueryPlan, Stint]]] = {}
        for query in self.parts:
            for stint in self.stints[query.name]:
                readers.setdefault(stint.synopsis_id, []).append((query, stint))
        return {key: tuple(pairs) for key, pairs in readers.items()}


def _with_base(source: Name) -> tuple[Name, ...]:
    base = set_aside_by(source)
    return (source,) if base is None else (base, source)


def lanes_of(query: QueryPlan) -> tuple[Lane, ...]:
    """The lanes behind a query's aggregates, each once."""
    return _lanes_of(query.aggregates)


@lru_cache(maxsize=2**12)
def _lanes_of(calls: tuple[AggregateCall, ...]) -> tuple[Lane, ...]:
    return tuple(dict.fromkeys(lane for call in calls for lane in lanes_behind(call)))


def kin_of(query: QueryPlan) -> tuple[Relation, frozenset[str]]:
    """Relation and keys: queries that are equal in both can read one synopsis."""
    return multiplying(query.relation), frozenset(key.scalar.sql for key in query.keys)


def specs_of(query: QueryPlan) -> tuple[WindowSpec, ...]:
    """The windows of a query, one for each length it asks for."""
    return _specs_of(query.window)


def cut_specs_of(query: QueryPlan) -> tuple[WindowSpec, ...]:
    """The windows whose edges the slices of a query must have: also those of early answers."""
    every_us = query.emit.every_us
    if not every_us:
        return specs_of(query)
    return (*specs_of(query), WindowSpec(every_us, every_us, query.window.start_us % every_us))


@lru_cache(maxsize=2**14)
def _specs_of(window: Window) -> tuple[WindowSpec, ...]:
    if window.is_soft:
        every_us = window.update_us
        return tuple(WindowSpec(r, every_us, -r % every_us) for r in window.ranges_us)
    return tuple(
        WindowSpec(range_us, window.slide_us, window.start_us) for range_us in window.ranges_us
    )


def windowed(queries: Iterable[AnyQuery]) -> list[QueryPlan]:
    """The queries with a window."""
    return [query for query in queries if isinstance(query, QueryPlan)]


def with_row_queries(plan: SharedPlan, queries: Sequence[AnyQuery]) -> SharedPlan:
    """The plan with just those of the queries that have no window; the same if it has them.

    One that stays goes on with the rows that it holds.
    """
    row_queries = tuple(query for query in queries if isinstance(query, RowQuery))
    wishes = [part for query in row_queries for part in query.by_source]
    feeds = {feed.query: feed for feed in plan.row_feeds}
    if plan.row_queries == row_queries:
        return plan
    number = plan.next_synopsis
    for query in wishes:
        if query not in feeds:
            feeds[query] = RowFeed(f"r{number}", query)
            number += 1
    return replace(
        plan,
        version=plan.version + 1,
        row_queries=row_queries,
        row_feeds=tuple(feeds[query] for query in wishes),
        next_synopsis=number,
    )
