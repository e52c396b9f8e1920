"""The drift of a plan that followed its queries by small steps, from one made anew.

Adding and dropping queries never moves the others, so a plan drifts. The cost of a new plan is
estimated by the line through the last two plans that were made anew. When the plan in force
costs more than that by some share, everything is arranged anew, if that is cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from tidemill.plan.query import QueryPlan
from tidemill.share.needs import needs_of
from tidemill.share.optimiser import Context, Group, longest
from tidemill.share.weave import Cost, Processing, Workload, cost_of_plan

# Number of queries and cost, of the last two plans that were made anew.
CostPoints = tuple[tuple[int, float], ...]


def cost_of_arrangement(groups: Sequence[Group], context: Context) -> float:
    """The cost by the papers' count when windows are woven by it, else in the machine's time."""
    if context.settings.sharing in ("weave", "triweave"):
        return sum(_cost_of_weaving(family, context) for family in _families(groups))
    return sum(context.costs.cost_of_synopsis(group.needs) for group in groups)


def with_point(points: CostPoints, queries: int, cost: float) -> CostPoints:
    """The points with one more; the older of two goes."""
    return (*points[-1:], (queries, cost))


def has_drifted(points: CostPoints, queries: int, cost: float, percent: int) -> bool:
    """Says whether a plan costs more than expected by more than so many percent."""
    expected = float(extrapolated(points, queries))
    return bool(points) and expected > 0 and cost / expected - 1 > percent / 100


def extrapolated(points: tuple[tuple[int, Cost], ...], count: int) -> Cost:
    """The line through the last two costs; with one, through the origin."""
    if not points:
        return Fraction(0)
    (before, cheap), (last, dear) = ((0, Fraction(0)), *points)[-2:]
    if before == last:
        before, cheap = 0, Fraction(0)
    return dear + (dear - cheap) / max(1, last - before) * (count - last)


def _families(groups: Sequence[Group]) -> Iterable[list[Group]]:
    """Groups that differ in their windows alone."""
    families: dict[object, list[Group]] = {}
    for group in groups:
        needs = group.needs
        families.setdefault((needs.relation, needs.keys, needs.predicates), []).append(group)
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
