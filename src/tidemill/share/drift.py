"""How far a plan that followed its queries by small steps is from one made anew.

Adding and dropping queries never moves the others, so a plan drifts. What a new plan would
cost is read off the line through the last two that were made anew; when the standing one
costs more than that by some share, everything is arranged anew, if that is cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from tidemill.plan.query import QueryPlan
from tidemill.share.needs import needs_of
from tidemill.share.optimiser import Context, Group, longest
from tidemill.share.weave import Cost, Processing, Workload, plan_cost

# Number of queries and cost, of the last plans that were made anew.
Made = tuple[tuple[int, float], ...]


def arrangement_cost(groups: Sequence[Group], context: Context) -> float:
    """By the papers' count when windows are woven by it, else by the machine's time."""
    if context.settings.sharing in ("weave", "triweave"):
        return sum(_woven_cost(family, context) for family in _families(groups))
    return sum(context.costs.kept(group.needs) for group in groups)


def with_point(made: Made, queries: int, cost: float) -> Made:
    return (*made[-1:], (queries, cost))


def has_drifted(made: Made, queries: int, cost: float, percent: int) -> bool:
    """Whether a plan costs more than expected by more than so many percent."""
    expected = float(extrapolated(made, queries))
    return bool(made) and expected > 0 and cost / expected - 1 > percent / 100


def extrapolated(made: tuple[tuple[int, Cost], ...], count: int) -> Cost:
    """The line through the last two costs; with one, through the origin."""
    if not made:
        return Fraction(0)
    (before, cheap), (last, dear) = ((0, Fraction(0)), *made)[-2:]
    if before == last:
        before, cheap = 0, Fraction(0)
    return dear + (dear - cheap) / max(1, last - before) * (count - last)


def _families(groups: Sequence[Group]) -> Iterable[list[Group]]:
    """Groups that differ in their windows alone."""
    found: dict[object, list[Group]] = {}
    for group in groups:
        needs = group.needs
        found.setdefault((needs.relation, needs.keys, needs.predicates), []).append(group)
    return found.values()


def _woven_cost(groups: Sequence[Group], context: Context) -> float:
    queries: list[QueryPlan] = [query for group in groups for query in group.queries]
    places, first = [], 0
    for group in groups:
        places.append(tuple(range(first, first + len(group.queries))))
        first += len(group.queries)
    triops = context.settings.sharing == "triweave" and len(groups) > 1
    processing = Processing.TRIOPS if triops else Processing.TREES
    load = Workload.of([longest(query) for query in queries])
    return float(plan_cost(load, tuple(places), processing, context.weaving(needs_of(queries))))
