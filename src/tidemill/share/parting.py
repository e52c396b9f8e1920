"""Windows that are better kept apart, by the engine's costs.

A tick reads a synopsis as far back as its longest window reaches, in slices as fine as its
shortest slide. Where some windows are long and others slide often, two synopses may cost less
than one: the long windows then come from few large slices, and the short ones from few small
ones. Windows of one slide always stay together: they have the same edges but for one an end.

The same greedy as that of the papers decides (of all pairs the one that saves most), with a
sub-aggregation for each group or with one that feeds them all, whichever is cheaper for the
smallest groups; one synopsis is kept where that costs no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidemill.aggregates import Lane
from tidemill.plan.predicates import Predicate
from tidemill.plan.query import QueryPlan
from tidemill.share.costs import EngineCosts, Needs, needs_of, united_needs
from tidemill.share.merging import merge_greedily
from tidemill.share.model import specs_of
from tidemill.windows import WindowSpec

# Slides that are looked at one by one; of more, those near each other stay together.
MOST_SLIDES = 4

CostOfCells = Callable[[Needs], float]


@dataclass(frozen=True, eq=False)
class QueryPart:
    """Queries that share slices, and what they need together."""

    queries: tuple[QueryPlan, ...]
    needs: Needs

    def __add__(self, other: QueryPart) -> QueryPart:
        return QueryPart((*self.queries, *other.queries), self.needs | other.needs)


def part_queries(
    queries: Sequence[QueryPlan], costs: EngineCosts, price: CostOfCells
) -> tuple[tuple[QueryPlan, ...], ...]:
    """Queries of one relation and one set of keys, parted by their windows where that pays."""
    together = needs_of(queries)
    price = _once_for_windows(price)
    parts = [_with_lanes(part, together.lanes) for part in parts_by_slide(queries)]
    if len(parts) == 1 or max(price(part.needs) for part in parts) >= price(together):
        return (tuple(queries),)
    offer = merge_greedily(parts, _charge(parts, together, costs, price), QueryPart.__add__)
    families = [part.needs for part in offer], [together]
    cost, cost_together = (cost_of_family(family, costs, price) for family in families)
    if cost >= cost_together:
        return (tuple(queries),)
    places = {query.name: place for place, query in enumerate(queries)}
    return tuple(
        tuple(sorted(part.queries, key=lambda query: places[query.name])) for part in offer
    )


def _once_for_windows(price: CostOfCells) -> CostOfCells:
    """The price of parts that their windows tell apart, and who asks for these."""
    prices: dict[frozenset[tuple[Predicate, WindowSpec]], float] = {}

    def once(needs: Needs) -> float:
        if needs.predicate_windows not in prices:
            prices[needs.predicate_windows] = price(needs)
        return prices[needs.predicate_windows]

    return once


def _with_lanes(part: QueryPart, lanes: frozenset[Lane]) -> QueryPart:
    """With the lanes of all: a lane is laid out for those windows alone that ask for it, so that
    nothing is saved by keeping lanes apart."""
    return replace(part, needs=replace(part.needs, lanes=lanes))


def cost_of_family(family: Sequence[Needs], costs: EngineCosts, price: CostOfCells) -> float:
    """The cost of synopses that differ in their windows, each fed by itself or all from one."""
    return sum(map(price, family)) + min(
        _cost_of_own_feeds(family, costs), _cost_of_one_feed(family, costs)
    )


def _cost_of_own_feeds(family: Sequence[Needs], costs: EngineCosts) -> float:
    return sum(costs.cost_of_added_feed(needs, 1) for needs in family)


def _cost_of_one_feed(family: Sequence[Needs], costs: EngineCosts) -> float:
    return costs.cost_of_added_feed(united_needs(family), len(family))


def _charge(
    parts: Sequence[QueryPart], together: Needs, costs: EngineCosts, price: CostOfCells
) -> Callable[[QueryPart], float]:
    """What a part costs that has its own sub-aggregation, or is fed by that of all: whichever is
    cheaper for the smallest parts."""
    family = [part.needs for part in parts]
    if _cost_of_own_feeds(family, costs) < _cost_of_one_feed(family, costs):
        return lambda part: price(part.needs) + costs.cost_of_added_feed(part.needs, 1)
    return lambda part: price(part.needs) + costs.cost_of_intercede(together, part.needs)


def parts_by_slide(queries: Sequence[QueryPlan]) -> list[QueryPart]:
    """The shortest slides first."""
    by_slide: dict[int, list[QueryPlan]] = {}
    for query in queries:
        by_slide.setdefault(specs_of(query)[0].slide_us, []).append(query)
    if len(by_slide) > MOST_SLIDES:
        by_slide = _near_together(by_slide)
    return [QueryPart(tuple(several), needs_of(several)) for _, several in sorted(by_slide.items())]


def _near_together(by_slide: dict[int, list[QueryPlan]]) -> dict[int, list[QueryPlan]]:
    """By equal steps of the logarithm, so many that they are no more than the most."""
    least, most = math.log(min(by_slide)), math.log(max(by_slide))
    steps: dict[int, list[QueryPlan]] = {}
    for slide_us, queries in by_slide.items():
        place = (math.log(slide_us) - least) / (most - least)
        steps.setdefault(min(MOST_SLIDES - 1, int(place * MOST_SLIDES)), []).extend(queries)
    return steps
