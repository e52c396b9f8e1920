"""A plan in the making: which queries read which synopsis, each from its next window on.

A query that moves goes on with its open windows where they began. It has a stint in either
synopsis until these have closed, so no window is lost or answered twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tidemill.language.names import Name
from tidemill.plan.predicates import Reading
from tidemill.plan.query import QueryPlan
from tidemill.share.model import SharedPlan, Stint
from tidemill.share.optimiser import Context, Group
from tidemill.share.synopses import (
    StreamPosition,
    complete_since,
    fit_synopsis,
    new_synopsis,
)
from tidemill.state.synopsis import Synopsis


@dataclass(frozen=True)
class HostedGroup:
    """A group of queries and the synopsis that it is to read; None: one that is not there yet."""

    group: Group
    host: str | None = None


class PlanChange:
    """Starts from a plan, and makes the next version of it."""

    def __init__(self, plan: SharedPlan) -> None:
        self._plan = plan
        self._synopses = {synopsis.id: synopsis for synopsis in plan.synopses}
        self._stints = dict(plan.stints)
        self._next = plan.next_synopsis

    def result(self) -> SharedPlan:
        used = {stint.synopsis_id for stints in self._stints.values() for stint in stints}
        return replace(
            self._plan,
            version=self._plan.version + 1,
            synopses=tuple(s for s in self._synopses.values() if s.id in used),
            stints=self._stints,
            next_synopsis=self._next,
        )

    def settle(
        self,
        parts: Iterable[HostedGroup],
        position: StreamPosition,
        context: Context,
        losing: Iterable[str] = (),
    ) -> None:
        """Every query of a part reads its synopsis; synopses that lost readers are fitted too."""
        unfit, covers = dict.fromkeys(losing), context.settings.is_on("covers")
        for part in parts:
            if part.host is None:
                self._open(part.group, position, covers)
            elif (movers := self._movers(part)) or part.host in unfit:
                self._fit(part.host, movers, position, covers)
                unfit.pop(part.host, None)
        for synopsis_id in unfit:
            self._fit(synopsis_id, [], position, covers)

    def _open(self, group: Group, position: StreamPosition, covers: bool) -> None:
        fitted = new_synopsis(self._next, group.queries, position, covers, group.routed)
        self._next += 1
        self._synopses[fitted.synopsis.id] = fitted.synopsis
        for query in group.queries:
            self._begin(query, fitted.synopsis, fitted.readings[query.name], position)

    def _movers(self, part: HostedGroup) -> list[QueryPlan]:
        return [
            query
            for query in part.group.queries
            if not (stints := self._of(query)) or stints[-1].synopsis_id != part.host
        ]

    def _fit(
        self, synopsis_id: str, movers: Sequence[QueryPlan], position: StreamPosition, covers: bool
    ) -> None:
        """A mover that still has windows open there goes on reading what it read."""
        readings = {query: stint.reading for query, stint in self._readers(synopsis_id)}
        if not readings and not movers:
            return
        newcomers = [query for query in movers if query not in readings]
        synopsis = self._synopses[synopsis_id]
        fitted = fit_synopsis(synopsis, readings, newcomers, position, covers)
        self._synopses[synopsis_id] = fitted.synopsis
        for query in movers:
            reading = readings.get(query) or fitted.readings[query.name]
            self._begin(query, fitted.synopsis, reading, position)

    def _begin(
        self, query: QueryPlan, synopsis: Synopsis, reading: Reading, position: StreamPosition
    ) -> None:
        since_us = complete_since(synopsis, query, reading, position)
        # A query whose beginning has been announced does not begin earlier by moving.
        since_us = max(since_us, min((s.from_us for s in self._of(query)), default=since_us))
        before = (replace(s, until_us=min(s.until_us, since_us)) for s in self._of(query))
        stint = Stint(synopsis.id, reading, since_us)
        self._stints[query.name] = (*(s for s in before if s.from_us < s.until_us), stint)

    def _of(self, query: QueryPlan) -> tuple[Stint, ...]:
        return self._stints.get(query.name, ())

    def _readers(self, synopsis_id: str) -> list[tuple[QueryPlan, Stint]]:
        return [
            (query, stint)
            for query in self._plan.parts
            for stint in self._of(query)
            if stint.synopsis_id == synopsis_id
        ]


def live_parts(plan: SharedPlan, stream: Name) -> tuple[HostedGroup, ...]:
    """The queries of a stream that are under way, by the synopsis of their newest windows."""
    by_synopsis: dict[str, list[QueryPlan]] = {}
    for query in plan.parts_of(stream):
        if stints := plan.stints.get(query.name):
            by_synopsis.setdefault(stints[-1].synopsis_id, []).append(query)
    return tuple(
        HostedGroup(Group(tuple(queries), plan.synopsis(key).routed), key)
        for key, queries in by_synopsis.items()
    )


def hosted(groups: Sequence[Group], live: Iterable[HostedGroup]) -> tuple[HostedGroup, ...]:
    """The groups, each in the synopsis that most of its queries read, so that few must move."""
    place_of = {q.name: place for place, group in enumerate(groups) for q in group.queries}
    overlaps = [
        (-count, place, number, part.host)
        for number, part in enumerate(live)
        for place, count in Counter(place_of[q.name] for q in part.group.queries).items()
        if part.group.routed == groups[place].routed
    ]
    hosts: dict[int, str | None] = {}
    for _, place, _, host in sorted(overlaps, key=lambda overlap: overlap[:3]):
        if place not in hosts and host not in hosts.values():
            hosts[place] = host
    return tuple(HostedGroup(group, hosts.get(place)) for place, group in enumerate(groups))
