"""The optimiser: one tuple of steps that decide which queries read one synopsis.

It starts with a synopsis for each query. Every step may merge groups of queries or part them.
Afterwards predicates get their bits (`synopses.py`), and feeds are arranged (`feeds.py`). A step
can be switched off by its name (`SET steps_off = '…'`); the answers stay the same. In mode `auto`
the plan is then compared with those that share all windows or nothing, and the cheapest is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from tidemill.plan.query import QueryPlan
from tidemill.settings import STEP_SENTENCES, Settings
from tidemill.share.costs import EngineCosts, Needs, needs_of
from tidemill.share.feeds import cost_of_feeding, most_cost_of_feeding
from tidemill.share.merging import merge_greedily
from tidemill.share.model import kin_of, specs_of
from tidemill.share.parting import CostOfCells, QueryPart, cost_of_family, part_queries
from tidemill.share.weave import (
    CostModel,
    Operations,
    Processing,
    Workload,
    choose_weave,
    cost_of_plan,
)
from tidemill.windows import WindowSpec

QueryGroups = tuple["Group", ...]
# Queries of a stream for which the plans of the papers are tried as well.
_MOST_WOVEN = 64


@dataclass(frozen=True)
class Group:
    """Queries of one relation and one set of keys, which read one synopsis."""

    queries: tuple[QueryPlan, ...]
    routed: bool = False

    @cached_property
    def needs(self) -> Needs:
        return replace(needs_of(self.queries), routed=self.routed)


@dataclass(frozen=True, eq=False)
class Context:
    """The settings and costs that the steps decide by."""

    settings: Settings
    costs: EngineCosts

    def weaving(self, needs: Needs) -> CostModel:
        """The papers' count of operations, by which the modes that are named after it weave."""
        return Operations(Fraction(self.costs.sample.rows_per_second).limit_denominator(1000))

    def in_mode(self, sharing: str) -> Context:
        """The same in another sharing mode."""
        return replace(self, settings=replace(self.settings, sharing=sharing))

    @property
    def routes(self) -> bool:
        """Whether cells may be kept by condition."""
        return self.settings.sharing == "auto" and self.settings.is_on("routing")

    def cost_of_cells(self, needs: Needs) -> float:
        """The cost of a synopsis, kept in the cheaper of the ways that are allowed."""
        costs = self.costs
        return costs.cost_of_cells(needs) if self.routes else costs.cost_by_signature(needs)

    def group(self, queries: Sequence[QueryPlan]) -> Group:
        """The queries as one group, kept in the cheaper way."""
        group = Group(tuple(queries))
        routed = self.routes and self.costs.is_routing_cheaper(group.needs)
        return replace(group, routed=routed)


def share_slices(groups: QueryGroups, _context: Context) -> QueryGroups:
    """Queries of equal relation, keys and predicate share slices (rules SS1 and SS2)."""
    # No more is asked of a query than that: the needs of ten thousand single ones take a while.
    return _joined(groups, lambda g: (*kin_of(g.queries[0]), g.queries[0].predicate))


def share_predicates(groups: QueryGroups, context: Context) -> QueryGroups:
    """Queries of equal relation and keys share partials per signature, while that pays.

    Predicates over the same columns go together at once, as they make few signatures; sets of
    them are put together by cost, and left apart where their signatures would explode.
    """
    compatible = _joined(groups, lambda g: (g.needs.relation, g.needs.keys, _columns(g)))
    return _merged(compatible, context.costs.cost_by_signature, context.costs)


def route_predicates(groups: QueryGroups, context: Context) -> QueryGroups:
    """Cells are kept per predicate where that makes fewer of them than keeping signatures.

    Predicates do not multiply then, so that sets of them go together which were left apart.
    """
    if not context.routes:
        return groups
    if context.settings.is_on("predicates"):
        groups = _merged(groups, context.costs.cost_of_cells, context.costs)
    return tuple(context.group(group.queries) for group in groups)


def _merged(groups: QueryGroups, price: CostOfCells, costs: EngineCosts) -> QueryGroups:
    """Groups of equal relation and keys merged for as long as that saves, at such a price."""
    parts = [QueryPart(group.queries, group.needs) for group in groups]

    def merge(left: QueryPart, right: QueryPart) -> QueryPart | None:
        same = left.needs.relation == right.needs.relation and left.needs.keys == right.needs.keys
        return left + right if same else None

    def cost(part: QueryPart) -> float:
        return price(part.needs) + costs.cost_of_added_feed(part.needs, 1)

    return tuple(Group(part.queries) for part in merge_greedily(parts, cost, merge))


def weave_windows(groups: QueryGroups, context: Context) -> QueryGroups:
    """Queries of one group whose windows are better kept apart get synopses of their own."""
    return tuple(part for group in groups for part in _woven(group, context))


Regroup = Callable[[QueryGroups, Context], QueryGroups]


@dataclass(frozen=True)
class Step:
    """One decision of the optimiser; `regroup` is there for those made over groups of queries."""

    name: str
    sentence: str
    regroup: Regroup | None = None


_REGROUPING: Mapping[str, Regroup] = {
    "slices": share_slices,
    "predicates": share_predicates,
    "routing": route_predicates,
    "weave": weave_windows,
}
if unknown := _REGROUPING.keys() - STEP_SENTENCES.keys():
    raise LookupError(f"steps that no setting names: {sorted(unknown)}")
# The settings list the names and their order; `covers` is taken in `synopses.py`, and the last
# two in `feeds.py`.
SHARING_STEPS: tuple[Step, ...] = tuple(
    Step(name, sentence, _REGROUPING.get(name)) for name, sentence in STEP_SENTENCES.items()
)


def optimise(queries: Iterable[QueryPlan], context: Context) -> QueryGroups:
    """The groups after all steps that are on."""
    groups: QueryGroups = tuple(Group((query,)) for query in queries)
    if context.settings.sharing == "none":
        return groups
    stages = {"": groups}
    for step in SHARING_STEPS:
        if step.regroup and context.settings.is_on(step.name):
            groups = stages[step.name] = step.regroup(groups, context)
    return _cheapest(stages, context) if context.settings.sharing == "auto" else groups


def _cheapest(stages: Mapping[str, QueryGroups], context: Context) -> QueryGroups:
    """The groups after the last step, unless those of another mode cost less.

    Routing and weaving look at one synopsis or family at a time; how all are fed comes after them.
    """
    *_, last = stages.values()
    shared = next(stages[name] for name in ("predicates", "slices", "") if name in stages)
    offers = [last]
    for rival in (stages.get("routing", last), shared, *_papers_plans(shared, context)):
        offers += [rival] if rival not in offers else []
    apart = stages[""]
    if offers == [apart]:
        return apart
    least, best = cost_with_feeds(last, context), last
    for offer in offers[1:]:
        if _cost_of_states(offer, context, least) >= least:
            continue
        if (price := cost_with_feeds(offer, context)) < least:
            least, best = price, offer
    return apart if _cost_less(apart, least, context) else best


def _papers_plans(shared: QueryGroups, context: Context) -> Iterator[QueryGroups]:
    """What the woven modes would do, of few queries: of more it takes longer than it brings."""
    if context.settings.is_on("weave") and sum(len(g.queries) for g in shared) <= _MOST_WOVEN:
        for mode in ("weave", "triweave"):
            yield weave_windows(shared, context.in_mode(mode))


def _cost_less(apart: QueryGroups, price: float, context: Context) -> bool:
    """Whether queries that share nothing cost less; of many no more is asked than a bound.

    What they keep alone is mostly dearer than the whole of a plan that shares.
    """
    total = _cost_of_states(apart, context, price)
    if total >= price:
        return False
    if len(apart) <= _MOST_WOVEN:
        return cost_with_feeds(apart, context) < price
    needs = [group.needs for group in apart]
    return total + most_cost_of_feeding(needs, context.settings, context.costs) < price


def cost_with_feeds(groups: Sequence[Group], context: Context) -> float:
    """The cost of all synopses, and of the sub-aggregations and passes that feed them."""
    fed = cost_of_feeding([group.needs for group in groups], context.settings, context.costs)
    return fed + _cost_of_states(groups, context)


def _cost_of_states(groups: Sequence[Group], context: Context, limit: float = math.inf) -> float:
    """What all synopses keep and read; what reaches the limit is not worked out to the end."""
    total = 0.0
    for group in groups:
        total += _cost_of_state(group, context.costs)
        if total >= limit:
            break
    return total


def _cost_of_state(group: Group, costs: EngineCosts) -> float:
    by_signature, by_predicate = costs.cost_by_signature, costs.cost_by_predicate
    return by_predicate(group.needs) if group.routed else by_signature(group.needs)


def _joined(groups: QueryGroups, key: Callable[[Group], object]) -> QueryGroups:
    by_key: dict[object, list[QueryPlan]] = {}
    for group in groups:
        by_key.setdefault(key(group), []).extend(group.queries)
    return tuple(Group(tuple(queries)) for queries in by_key.values())


def _columns(group: Group) -> frozenset[str]:
    return frozenset(name for query in group.queries for name in query.predicate.columns)


def _woven(group: Group, context: Context) -> Sequence[Group]:
    mode = context.settings.sharing
    if mode == "shared" or len(group.queries) == 1:
        return [group]
    if mode == "auto":
        parts = part_queries(group.queries, context.costs, context.cost_of_cells)
        return [group] if len(parts) == 1 else [context.group(part) for part in parts]
    windows = [longest(query) for query in group.queries]
    chosen = choose_weave(mode, windows, context.weaving(group.needs))
    return [Group(tuple(group.queries[n] for n in sorted(part))) for part in chosen.groups]


def longest(query: QueryPlan) -> WindowSpec:
    """The window that stands for a query of several lengths when windows are woven."""
    return max(specs_of(query), key=lambda spec: spec.range_us)


def cost_of_arrangement(groups: Sequence[Group], context: Context) -> float:
    """The cost by the papers' count when windows are woven by it, else in the machine's time."""
    if context.settings.sharing in ("weave", "triweave"):
        return sum(_cost_of_weaving(family, context) for family in _families(groups))
    return sum(
        cost_of_family([group.needs for group in family], context.costs, context.cost_of_cells)
        for family in _families(groups)
    )


def _families(groups: Sequence[Group]) -> Iterable[list[Group]]:
    """Groups that can be cut from one sub-aggregation as it is."""
    families: dict[object, list[Group]] = {}
    for group in groups:
        families.setdefault((group.needs.relation, group.needs.keys), []).append(group)
    return families.values()


def _cost_of_weaving(groups: Sequence[Group], context: Context) -> float:
    queries: list[QueryPlan] = [query for group in groups for query in group.queries]
    places, first = [], 0
    for group in groups:
        places.append(tuple(range(first, first + len(group.queries))))
        first += len(group.queries)
    triops = context.settings.sharing == "triweave" and len(groups) > 1
    processing = Processing.TRIOPS if triops else Processing.TREES
    load = Workload.of([longest(query) for query in queries])
    return float(cost_of_plan(load, tuple(places), processing, context.weaving(needs_of(queries))))
