"""Which queries read which synopsis: the optimiser, as one tuple of steps in a stated order.

It starts from no sharing, a synopsis for each query, and every step may put groups together or
part them; then bits are given to predicates (`synopses.py`), and last it is decided how the
synopses are fed (`feeds.py`). A step can be switched off by its name (`SET steps_off = '…'`);
answers are the same with any of them off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from tidemill.plan.query import QueryPlan
from tidemill.settings import STEP_SENTENCES, Settings
from tidemill.share.costs import EngineCosts
from tidemill.share.merging import merge_greedily
from tidemill.share.model import specs_of
from tidemill.share.needs import Needs, needs_of
from tidemill.share.weave import CostModel, Machine, Operations, Statistics, choose
from tidemill.windows import WindowSpec

Groups = tuple["Group", ...]


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
    """What the steps decide by."""

    settings: Settings
    costs: EngineCosts

    def weaving(self, needs: Needs) -> CostModel:
        """Weaving goes by the papers' count of operations, `auto` by the machine's time."""
        rate = self.costs.sample.rows_per_second
        if self.settings.sharing in ("weave", "triweave"):
            return Operations(Fraction(rate).limit_denominator(1000))
        groups = self.costs.cells(needs) / self.costs.edge_rate(needs.windows)
        return Machine(Statistics(rate, groups), self.costs.machine)


def share_slices(groups: Groups, _context: Context) -> Groups:
    """Queries of equal relation, keys and predicate share slices (rules SS1 and SS2)."""
    return _joined(groups, lambda g: (g.needs.relation, g.needs.keys, g.queries[0].predicate))


def share_predicates(groups: Groups, context: Context) -> Groups:
    """Queries of equal relation and keys share partials per signature, while that pays.

    Predicates over the same columns go together at once, as they make few signatures; sets of
    them are put together by cost, and left apart where their signatures would explode.
    """
    compatible = _joined(groups, lambda g: (g.needs.relation, g.needs.keys, _columns(g)))

    def merge(left: Group, right: Group) -> Group | None:
        same = left.needs.relation == right.needs.relation and left.needs.keys == right.needs.keys
        return Group((*left.queries, *right.queries)) if same else None

    return merge_greedily(compatible, lambda group: context.costs.kept(group.needs), merge)


def route_predicates(groups: Groups, context: Context) -> Groups:
    """Cells are kept per predicate where that makes fewer of them than keeping signatures."""
    if context.settings.sharing != "auto":
        return groups

    def pays(needs: Needs) -> bool:
        return context.costs.routed(needs) < context.costs.signed(needs)

    return tuple(replace(group, routed=pays(group.needs)) for group in groups)


def weave_windows(groups: Groups, context: Context) -> Groups:
    """Queries of one group whose windows are better kept apart get synopses of their own."""
    return tuple(part for group in groups for part in _woven(group, context))


Regroup = Callable[[Groups, Context], Groups]


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
STEPS: tuple[Step, ...] = tuple(
    Step(name, sentence, _REGROUPING.get(name)) for name, sentence in STEP_SENTENCES.items()
)


def optimise(queries: Iterable[QueryPlan], context: Context) -> Groups:
    """The groups after all steps that are on."""
    groups: Groups = tuple(Group((query,)) for query in queries)
    if context.settings.sharing == "none":
        return groups
    for step in STEPS:
        if step.regroup and context.settings.is_on(step.name):
            groups = step.regroup(groups, context)
    return groups


def _joined(groups: Groups, key: Callable[[Group], object]) -> Groups:
    found: dict[object, list[QueryPlan]] = {}
    for group in groups:
        found.setdefault(key(group), []).extend(group.queries)
    return tuple(Group(tuple(queries)) for queries in found.values())


def _columns(group: Group) -> frozenset[str]:
    return frozenset(name for query in group.queries for name in query.predicate.columns)


def _woven(group: Group, context: Context) -> Sequence[Group]:
    mode = context.settings.sharing
    if mode == "shared" or group.routed or len(group.queries) == 1:
        return [group]
    windows = [longest(query) for query in group.queries]
    chosen = choose(mode, windows, context.weaving(group.needs))
    return [Group(tuple(group.queries[n] for n in sorted(part))) for part in chosen.groups]


def longest(query: QueryPlan) -> WindowSpec:
    """The window that stands for a query of several lengths when windows are woven."""
    return max(specs_of(query), key=lambda spec: spec.range_us)
