"""The optimiser: one tuple of steps that decide which queries read one synopsis.

It starts with a synopsis for each query. Every step may merge groups of queries or part them.
Afterwards predicates get their bits (`synopses.py`), and feeds are arranged (`feeds.py`). A step
can be switched off by its name (`SET steps_off = '…'`); the answers stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from tidemill.plan.query import QueryPlan
from tidemill.settings import STEP_SENTENCES, Settings
from tidemill.share.costs import EngineCosts, Needs, needs_of
from tidemill.share.merging import merge_greedily
from tidemill.share.model import kin_of, specs_of
from tidemill.share.weave import (
    CostModel,
    Machine,
    Operations,
    Processing,
    Statistics,
    Workload,
    choose_weave,
    cost_of_plan,
)
from tidemill.windows import WindowSpec

QueryGroups = tuple["Group", ...]


@dataclass(frozen=True)
class Group:
    """Queries of one relation and one set of keys, which read one synopsis."""

    queries: tuple[QueryPlan, ...]
    routed: bool = False

    @cached_property
    def needs(self) -> Needs:
        return needs_of(self.queries)


@dataclass(frozen=True, eq=False)
class Context:
    """The settings and costs that the steps decide by."""

    settings: Settings
    costs: EngineCosts

    def weaving(self, needs: Needs) -> CostModel:
        """Weaving goes by the papers' count of operations, `auto` by the machine's time."""
        rate = self.costs.sample.rows_per_second
        if self.settings.sharing in ("weave", "triweave"):
            return Operations(Fraction(rate).limit_denominator(1000))
        groups = self.costs.cells_per_second(needs) / self.costs.edge_rate(needs.windows)
        return Machine(Statistics(rate, groups), self.costs.machine)


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

    def merge(left: _Part, right: _Part) -> _Part | None:
        same = left.needs.relation == right.needs.relation and left.needs.keys == right.needs.keys
        return _Part((*left.queries, *right.queries), left.needs | right.needs) if same else None

    parts = [_Part(group.queries, group.needs) for group in compatible]
    merged = merge_greedily(parts, lambda part: context.costs.cost_of_synopsis(part.needs), merge)
    return tuple(Group(part.queries) for part in merged)


@dataclass(frozen=True, eq=False)
class _Part:
    """Queries that may become a group, and what they need together: no query is asked again."""

    queries: tuple[QueryPlan, ...]
    needs: Needs


def route_predicates(groups: QueryGroups, context: Context) -> QueryGroups:
    """Cells are kept per predicate where that makes fewer of them than keeping signatures."""
    if context.settings.sharing != "auto":
        return groups

    def pays(needs: Needs) -> bool:
        return context.costs.cost_by_predicate(needs) < context.costs.cost_by_signature(needs)

    return tuple(replace(group, routed=pays(group.needs)) for group in groups)


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
    for step in SHARING_STEPS:
        if step.regroup and context.settings.is_on(step.name):
            groups = step.regroup(groups, context)
    return groups


def _joined(groups: QueryGroups, key: Callable[[Group], object]) -> QueryGroups:
    by_key: dict[object, list[QueryPlan]] = {}
    for group in groups:
        by_key.setdefault(key(group), []).extend(group.queries)
    return tuple(Group(tuple(queries)) for queries in by_key.values())


def _columns(group: Group) -> frozenset[str]:
    return frozenset(name for query in group.queries for name in query.predicate.columns)


def _woven(group: Group, context: Context) -> Sequence[Group]:
    mode = context.settings.sharing
    if mode == "shared" or group.routed or len(group.queries) == 1:
        return [group]
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
    return sum(context.costs.cost_of_synopsis(group.needs) for group in groups)


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
