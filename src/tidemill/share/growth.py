"""Plans that change while they run: queries come, go, and move from one synopsis to another.

A query that stays keeps its synopses and how it reads them, so nothing of its answers
changes. A newcomer joins a synopsis of its relation and keys where that is cheapest, or gets
a new one; a synopsis without readers goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
from tidemill.share.costs import Needs, needs_of
from tidemill.share.model import SharedPlan, Stint, specs_of
from tidemill.share.optimiser import (
    Context,
    CostPoints,
    Group,
    cost_of_arrangement,
    has_drifted,
    optimise,
    with_point,
)
from tidemill.share.serves import Verdict
from tidemill.share.synopses import (
    FittedSynopsis,
    StreamPosition,
    complete_since,
    fit_synopsis,
    new_synopsis,
)
from tidemill.state.synopsis import Synopsis
from tidemill.windows import END_US

Around = Callable[[Name], tuple[StreamPosition, Context]]


def change_plan(plan: SharedPlan, queries: Sequence[QueryPlan], around: Around) -> SharedPlan:
    """The plan for another set of queries; the same plan when nothing changes.

    `around` gives the position of each stream and what its plan is decided by.
    """
    staying = {query.name for query in queries if plan.stands(query)}
    fresh = [query for query in queries if query.name not in staying]
    if not fresh and len(staying) == len(plan.queries):
        return plan
    stints = {name: plan.stints[name] for name in plan.stints if name in staying}
    # A stream that nobody reads any more has nothing to place, and may be gone from the catalog.
    read = {source_name(query.relation) for query in queries}
    costs = {name: points for name, points in plan.rebuild_costs.items() if name in read}
    change = _Change(replace(plan, queries=tuple(queries), stints=stints, rebuild_costs=costs))
    touched = [s for s in plan.synopses if _lost_readers(plan, s, staying)]
    relations = (*(q.relation for q in fresh), *(s.relation for s in touched))
    streams = [name for name in dict.fromkeys(map(source_name, relations)) if name in read]
    for stream in streams:
        position, context = around(stream)
        newcomers = [query for query in fresh if source_name(query.relation) == stream]
        losing = {s.id for s in touched if source_name(s.relation) == stream}
        change.place(newcomers, losing, position, context)
    changed = change.result(plan.version + 1)
    for stream in streams:
        changed = _followed(changed, stream, around)
    return changed


def _followed(plan: SharedPlan, stream: Name, around: Around) -> SharedPlan:
    """The plan, or one made anew if small steps have led it astray and that one is cheaper."""
    context = around(stream)[1]
    groups = groups_of(plan, stream)
    queries, cost = sum(len(g.queries) for g in groups), cost_of_arrangement(groups, context)
    points = plan.rebuild_costs.get(stream, ())
    if not points:
        return _noted(plan, stream, with_point(points, queries, cost))
    if not has_drifted(points, queries, cost, context.settings.rebuild_percent):
        return plan
    rebuilt = rebuild_plan(plan, stream, around)
    return rebuilt if dict(rebuilt.rebuild_costs[stream])[queries] < cost else plan


def groups_of(plan: SharedPlan, stream: Name) -> tuple[Group, ...]:
    """The queries of a stream by the synopsis that answers their newest windows."""
    by_synopsis: dict[str, list[QueryPlan]] = {}
    for query in plan.queries_of(stream):
        by_synopsis.setdefault(plan.stints[query.name][-1].synopsis_id, []).append(query)
    return tuple(Group(tuple(queries)) for queries in by_synopsis.values())


def _noted(plan: SharedPlan, stream: Name, points: CostPoints) -> SharedPlan:
    return replace(plan, rebuild_costs={**plan.rebuild_costs, stream: points})


def rebuild_plan(plan: SharedPlan, stream: Name, around: Around) -> SharedPlan:
    """The stream's queries arranged anew, each moving over with its first window after now.

    Windows that are open go on where they began; no window is answered twice or not at all.
    """
    position, context = around(stream)
    queries = plan.queries_of(stream)
    moved, groups = _Change(plan), optimise(queries, context)
    for group in groups:
        moved.open(group, position, context)
    cost = cost_of_arrangement(groups, context)
    points = with_point(plan.rebuild_costs.get(stream, ()), len(queries), cost)
    return _noted(moved.result(plan.version + 1), stream, points)


def retire_stints(plan: SharedPlan, stream: Name, watermark_us: int) -> SharedPlan:
    """Without the stints whose last window has closed, and what only they needed."""
    over = {
        query.name: tuple(
            s for s in plan.stints[query.name] if not _is_over(query, s, watermark_us)
        )
        for query in plan.queries_of(stream)
    }
    stints = {**plan.stints, **over}
    if stints == plan.stints:
        return plan
    return _Change(replace(plan, stints=stints)).result(plan.version + 1)


class _Change:
    """A plan in the making."""

    def __init__(self, plan: SharedPlan) -> None:
        self._plan = plan
        self._synopses = {synopsis.id: synopsis for synopsis in plan.synopses}
        self._stints = dict(plan.stints)
        self._next = plan.next_synopsis

    def result(self, version: int) -> SharedPlan:
        used = {stint.synopsis_id for stints in self._stints.values() for stint in stints}
        return replace(
            self._plan,
            version=version,
            synopses=tuple(s for s in self._synopses.values() if s.id in used),
            stints=self._stints,
            next_synopsis=self._next,
        )

    def place(
        self,
        fresh: Sequence[QueryPlan],
        touched: set[str],
        position: StreamPosition,
        context: Context,
    ) -> None:
        """Puts newcomers of one stream each where it costs least, and fits what has changed."""
        joining: dict[str, list[QueryPlan]] = {name: [] for name in touched}
        alone: list[QueryPlan] = []
        homes = _Homes(self._synopses, self._open_synopses(), context)
        for query in fresh:
            home = homes.find(query)
            joining.setdefault(home, []).append(query) if home else alone.append(query)
        for synopsis_id, newcomers in joining.items():
            self._fit(synopsis_id, newcomers, position, context)
        for group in optimise(alone, context):
            self.open(group, position, context)

    def open(self, group: Group, position: StreamPosition, context: Context) -> None:
        """A new synopsis; queries that have another move over with their next window."""
        covers = context.settings.is_on("covers")
        fitted = new_synopsis(self._next, group.queries, position, covers, group.routed)
        self._next += 1
        self._synopses[fitted.synopsis.id] = fitted.synopsis
        for query in group.queries:
            self._begin(query, fitted, position)

    def _begin(self, query: QueryPlan, fitted: FittedSynopsis, position: StreamPosition) -> None:
        reading = fitted.readings[query.name]
        since_us = complete_since(fitted.synopsis, query, reading, position)
        # A query whose beginning has been announced does not begin earlier by moving.
        since_us = max(since_us, min((s.from_us for s in self._of(query)), default=since_us))
        before = (replace(s, until_us=min(s.until_us, since_us)) for s in self._of(query))
        stint = Stint(fitted.synopsis.id, reading, since_us)
        self._stints[query.name] = (*(s for s in before if s.from_us < s.until_us), stint)

    def _of(self, query: QueryPlan) -> tuple[Stint, ...]:
        return self._stints.get(query.name, ())

    def _fit(
        self,
        synopsis_id: str,
        newcomers: list[QueryPlan],
        position: StreamPosition,
        context: Context,
    ) -> None:
        readings = {query: stint.reading for query, stint in self._readers(synopsis_id)}
        if not readings and not newcomers:
            return
        covers = context.settings.is_on("covers")
        synopsis = self._synopses[synopsis_id]
        changed = fit_synopsis(synopsis, readings, newcomers, position, covers)
        self._synopses[synopsis_id] = changed.synopsis
        for query in newcomers:
            self._begin(query, changed, position)

    def _readers(self, synopsis_id: str) -> list[tuple[QueryPlan, Stint]]:
        return [
            (query, stint)
            for query in self._plan.queries
            for stint in self._of(query)
            if stint.synopsis_id == synopsis_id
        ]

    def _open_synopses(self) -> dict[str, Needs]:
        """The synopses that some query reads from now on, and what it takes to feed them."""
        readers: dict[str, list[QueryPlan]] = {}
        for query in self._plan.queries:
            if stints := self._of(query):
                readers.setdefault(stints[-1].synopsis_id, []).append(query)
        return {key: needs_of(queries) for key, queries in readers.items()}


class _Homes:
    """Finds the cheapest synopsis for each newcomer, and counts it in for the next."""

    def __init__(
        self, synopses: Mapping[str, Synopsis], needs: dict[str, Needs], context: Context
    ) -> None:
        self._synopses, self._needs, self._context = synopses, needs, context

    def find(self, query: QueryPlan) -> str | None:
        """A synopsis of the query's relation and keys; None: a new one is cheaper."""
        if self._context.settings.sharing == "none":
            return None
        query_needs, costs = needs_of([query]), self._context.costs
        offers = [
            (costs.cost_of_synopsis(needs | query_needs) - costs.cost_of_synopsis(needs), key)
            for key, needs in self._needs.items()
            if Verdict(self._synopses[key], query).can_join
        ]
        added, home = min(offers, default=(0.0, None))
        if home is None or added > costs.cost_of_synopsis(query_needs):
            return None
        self._needs[home] |= query_needs
        return home


def _lost_readers(plan: SharedPlan, synopsis: Synopsis, staying: set[str]) -> bool:
    return any(query.name not in staying for query, _ in plan.readers_of(synopsis))


def _is_over(query: QueryPlan, stint: Stint, watermark_us: int) -> bool:
    """Every window of the stint has closed, and no soft query asks for the last one."""
    if stint.until_us == END_US:
        return False
    over_us = watermark_us - query.window.update_us
    lasts = ((spec, spec.first_start_after(stint.until_us - 1)) for spec in specs_of(query))
    return all(last - spec.slide_us + spec.range_us <= over_us for spec, last in lasts)
