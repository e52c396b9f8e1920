"""Plans that follow their queries while these come and go.

A newcomer joins a group where that pays, or gets a synopsis of its own; a group that queries have
left looks for others to join ([placing.py](placing.py)). Small steps lead a plan astray, so its
cost is held against plans made anew, and it is made anew when it costs too much. Queries move as
few as may be, each with its next window ([moving.py](moving.py)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
from tidemill.share.drift import has_drifted, has_outgrown
from tidemill.share.model import SharedPlan, Stint, specs_of
from tidemill.share.moving import HostedGroup, PlanChange, hosted, live_parts
from tidemill.share.optimiser import Context, Group, cost_of_arrangement, optimise
from tidemill.share.placing import place
from tidemill.share.synopses import StreamPosition
from tidemill.state.synopsis import Synopsis
from tidemill.windows import END_US

Around = Callable[[Name], tuple[StreamPosition, Context]]
OverBy = Callable[[QueryPlan], int | None]
"""A part ⇒ the time by which windows of its query are over; None if there is none yet."""
# Two ways to add up one cost may differ by this share.
_ROUNDING = 1e-9


def change_plan(plan: SharedPlan, queries: Sequence[QueryPlan], around: Around) -> SharedPlan:
    """The plan for another set of queries; the same plan when nothing changes.

    `around` gives the position of each stream and what its plan is decided by.
    """
    standing_queries = [query for query in queries if plan.stands(query)]
    if len(standing_queries) == len(queries) == len(plan.queries):
        return plan
    parts = [part for query in queries for part in query.by_source]
    staying = {part.name for query in standing_queries for part in query.by_source}
    fresh = [part for part in parts if part.name not in staying]
    losing = [s for s in plan.synopses if _lost_readers(plan, s, staying)]
    # A stream that nobody reads any more has nothing to place, and may be gone from the catalog.
    read = {source_name(part.relation) for part in parts}
    relations = (*(q.relation for q in fresh), *(s.relation for s in losing))
    streams = [name for name in dict.fromkeys(map(source_name, relations)) if name in read]
    standing = _with_queries(plan, queries, staying, read)
    change = PlanChange(standing)
    for stream in streams:
        newcomers = [query for query in fresh if source_name(query.relation) == stream]
        _grow(change, standing, stream, newcomers, {s.id for s in losing}, around)
    changed = change.result()
    for stream in streams:
        changed = _followed(changed, stream, around)
    return changed


def _with_queries(
    plan: SharedPlan, queries: Sequence[QueryPlan], staying: set[str], read: set[Name]
) -> SharedPlan:
    """Other queries, of which those that stay are where they were."""
    return replace(
        plan,
        queries=tuple(queries),
        stints={name: plan.stints[name] for name in plan.stints if name in staying},
        rebuild_costs={name: pts for name, pts in plan.rebuild_costs.items() if name in read},
        rates={name: rates.only(staying) for name, rates in plan.rates.items() if name in read},
    )


def _grow(
    change: PlanChange,
    standing: SharedPlan,
    stream: Name,
    newcomers: Sequence[QueryPlan],
    losing: set[str],
    around: Around,
) -> None:
    """Places the newcomers of a stream, and the groups that others have left."""
    position, context = around(stream)
    live = live_parts(standing, stream)
    smaller = [number for number, part in enumerate(live) if part.host in losing]
    units = [HostedGroup(group) for group in optimise(newcomers, context)]
    fresh = range(len(live), len(live) + len(units))
    parts = place((*live, *units), (*fresh, *smaller), context) if live else units
    left = (s.id for s in standing.of_stream(stream) if s.id in losing)
    change.settle(parts, position, context, left)


def _followed(plan: SharedPlan, stream: Name, around: Around) -> SharedPlan:
    """The plan, or one made anew if small steps have led it astray and that one is cheaper."""
    context = around(stream)[1]
    groups, points = groups_of(plan, stream), plan.rebuild_costs.get(stream, ())
    queries, cost = len(plan.parts_of(stream)), cost_of_arrangement(groups, context)
    if not points:
        return _noted(plan, stream, cost)
    terms = points, queries, cost, context.settings.rebuild_percent
    if not (has_drifted(*terms) or has_outgrown(*terms)):
        return plan
    anew = regrouped(plan, stream, around)
    # What is remembered for other rates has drifted as well.
    return anew if anew.version == plan.version else _without_other_rates(anew, stream)


def groups_of(plan: SharedPlan, stream: Name) -> tuple[Group, ...]:
    """The queries of a stream by the synopsis that answers their newest windows."""
    return tuple(part.group for part in live_parts(plan, stream))


@dataclass(frozen=True)
class Regrouping:
    """Groups that may take the place of those of a plan; `cost` is there if they are new ones."""

    groups: tuple[Group, ...]
    cost: float | None
    is_cheaper: bool

    @staticmethod
    def of(
        plan: SharedPlan, stream: Name, context: Context, recalled: Sequence[Group] = ()
    ) -> Regrouping:
        """The groups recalled, or groups made anew. With many queries this takes a while."""
        queries, standing = plan.parts_of(stream), groups_of(plan, stream)
        groups = _completed(recalled, queries, context) if recalled else optimise(queries, context)
        cost = cost_of_arrangement(groups, context)
        is_cheaper = cost < cost_of_arrangement(standing, context) * (1 - _ROUNDING)
        return Regrouping(groups, None if recalled else cost, is_cheaper)

    def applied(
        self, plan: SharedPlan, stream: Name, position: StreamPosition, context: Context
    ) -> SharedPlan:
        """The plan with these groups if they are cheaper; queries move from the position on."""
        measured = plan if self.cost is None else _noted(plan, stream, self.cost)
        if not self.is_cheaper:
            return measured
        change = PlanChange(measured)
        change.settle(hosted(self.groups, live_parts(plan, stream)), position, context)
        return change.result()


def regrouped(plan: SharedPlan, stream: Name, around: Around) -> SharedPlan:
    """The plan with groups made anew, if these are cheaper."""
    position, context = around(stream)
    return Regrouping.of(plan, stream, context).applied(plan, stream, position, context)


def _completed(
    groups: Sequence[Group], queries: Sequence[QueryPlan], context: Context
) -> tuple[Group, ...]:
    """Groups of some of the queries; the others are placed as newcomers."""
    names = {query.name for group in groups for query in group.queries}
    units = optimise([query for query in queries if query.name not in names], context)
    parts = [HostedGroup(group) for group in (*groups, *units)]
    return tuple(part.group for part in place(parts, range(len(groups), len(parts)), context))


def rebuild_plan(plan: SharedPlan, stream: Name, around: Around) -> SharedPlan:
    """The stream's queries arranged anew, each moving to a new synopsis with its next window."""
    position, context = around(stream)
    groups = optimise(plan.parts_of(stream), context)
    change = PlanChange(_without_other_rates(plan, stream))
    change.settle(map(HostedGroup, groups), position, context)
    return _noted(change.result(), stream, cost_of_arrangement(groups, context))


def _noted(plan: SharedPlan, stream: Name, cost: float) -> SharedPlan:
    """With the cost of a plan that was made anew; of those before it, the last one stays."""
    points = plan.rebuild_costs.get(stream, ())[-1:]
    added = (*points, (len(plan.parts_of(stream)), cost))
    return replace(plan, rebuild_costs={**plan.rebuild_costs, stream: added})


def _without_other_rates(plan: SharedPlan, stream: Name) -> SharedPlan:
    rates = plan.rates.get(stream)
    if rates is None:
        return plan
    return replace(plan, rates={**plan.rates, stream: replace(rates, others=())})


def retire_stints(plan: SharedPlan, stream: Name, over_us: OverBy) -> SharedPlan:
    """Without the stints whose last window has closed, and what only they needed."""
    standing = {part.name: plan.stints[part.name] for part in plan.moving_of(stream)}
    left = {
        part.name: tuple(s for s in standing[part.name] if not _is_over(part, s, over_us(part)))
        for part in plan.moving_of(stream)
    }
    if left == standing:
        return plan
    return PlanChange(replace(plan, stints={**plan.stints, **left})).result()


def _lost_readers(plan: SharedPlan, synopsis: Synopsis, staying: set[str]) -> bool:
    return any(query.name not in staying for query, _ in plan.readers_of(synopsis))


def _is_over(query: QueryPlan, stint: Stint, over_us: int | None) -> bool:
    """Every window of the stint has ended by then."""
    if stint.until_us == END_US or over_us is None:
        return False
    lasts = ((spec, spec.first_start_after(stint.until_us - 1)) for spec in specs_of(query))
    return all(last - spec.slide_us + spec.range_us <= over_us for spec, last in lasts)
