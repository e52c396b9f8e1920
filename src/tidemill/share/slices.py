"""Sharing slices: queries of one stream with equal WHERE and GROUP BY read one synopsis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from tidemill.aggregates import lanes_of
from tidemill.plan.model import QueryPlan
from tidemill.synopsis.model import Synopsis
from tidemill.windows import WindowSpec, edge_classes


@dataclass(frozen=True)
class SharedPlan:
    """All standing queries and the synopses behind them, at one version."""

    version: int
    synopses: tuple[Synopsis, ...] = ()
    queries: tuple[QueryPlan, ...] = ()

    def query(self, name: str) -> QueryPlan:
        return self._by_name[name]

    def synopsis_of(self, query_name: str) -> Synopsis:
        return self._owners[query_name]

    def readers_of(self, synopsis: Synopsis) -> tuple[QueryPlan, ...]:
        """The standing queries among the members; others were dropped or replaced since."""
        return self._readers.get(synopsis.id, ())

    def of_stream(self, stream: str) -> tuple[Synopsis, ...]:
        return tuple(s for s in self.synopses if s.stream.lower() == stream.lower())

    @cached_property
    def _by_name(self) -> dict[str, QueryPlan]:
        return {query.name: query for query in self.queries}

    @cached_property
    def _owners(self) -> dict[str, Synopsis]:
        # The newest made for a name wins: an older one may still bear a replaced query's.
        return {name: synopsis for synopsis in self.synopses for name in synopsis.members}

    @cached_property
    def _readers(self) -> dict[str, tuple[QueryPlan, ...]]:
        readers: dict[str, tuple[QueryPlan, ...]] = {}
        for query in self.queries:
            key = self.synopsis_of(query.name).id
            readers[key] = (*readers.get(key, ()), query)
        return readers


def spec_of(query: QueryPlan) -> WindowSpec:
    window = query.window
    return WindowSpec(window.range_us, window.slide_us, window.start_us)


def specs_of(query: QueryPlan) -> tuple[WindowSpec, ...]:
    """The windows of a query, one for each length it asks for."""
    window = query.window
    return tuple(WindowSpec(r, window.slide_us, window.start_us) for r in window.ranges_us)


def share_slices(queries: Iterable[QueryPlan], sharing: str = "auto") -> tuple[Synopsis, ...]:
    """One synopsis per distinct (stream, WHERE, GROUP BY), or per query when not sharing."""
    groups: dict[tuple[object, ...], list[QueryPlan]] = {}
    for query in queries:
        groups.setdefault(_signature(query, sharing), []).append(query)
    return tuple(synopsis_for(members) for members in groups.values())


def extend_plan(plan: SharedPlan, queries: tuple[QueryPlan, ...], sharing: str) -> SharedPlan:
    """The plan for another set of queries, leaving what stands as it is.

    A query that stays keeps its synopsis, so its state stays valid; new queries share
    among themselves. A synopsis none of whose members is left goes.
    """
    unchanged = {query.name for query in queries if query in plan.queries}
    kept = tuple(s for s in plan.synopses if any(q.name in unchanged for q in plan.readers_of(s)))
    fresh = [query for query in queries if query.name not in unchanged]
    if len(kept) == len(plan.synopses) and not fresh and len(queries) == len(plan.queries):
        return plan
    return SharedPlan(plan.version + 1, kept + share_slices(fresh, sharing), queries)


def _signature(query: QueryPlan, sharing: str) -> tuple[object, ...]:
    where = query.where.sql if query.where else None
    keys = tuple(key.scalar.sql for key in query.keys)
    alone = query.name if sharing == "none" else None
    return (query.stream.lower(), where, keys, alone)


def synopsis_for(members: list[QueryPlan]) -> Synopsis:
    """The synopsis that queries of equal stream, WHERE and GROUP BY share."""
    windows = tuple(dict.fromkeys(spec for member in members for spec in specs_of(member)))
    return Synopsis(
        stream=members[0].stream,
        where=members[0].where,
        keys=members[0].keys,
        lanes=lanes_of(call for member in members for call in member.aggregates),
        classes=edge_classes(windows),
        windows=windows,
        members=tuple(member.name for member in members),
    )
