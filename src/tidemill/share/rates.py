"""Plans by range of input rates: the one in force, and those that the stream may come back to.

What a plan costs depends on the rate, so another rate may want other groups. A rate must leave its
range by a margin before anything happens, and the groups of a range that is left are remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tidemill.language.names import Name
from tidemill.share.growth import Around, groups_of, regrouped
from tidemill.share.model import NamedGroup, RatePlan, RatePlans, SharedPlan
from tidemill.share.optimiser import Group
from tidemill.share.weave import RateRanges

# Each plan serves the rates about a power of ten.
RANGES = RateRanges(tuple(10.0**power for power in range(10)))


def follow_rate(
    plan: SharedPlan, stream: Name, rows_per_second: float, around: Callable[[SharedPlan], Around]
) -> SharedPlan:
    """The plan for the range that a measured rate is in by now; the same plan if that stays.

    The first rate that is measured takes the place of one that was guessed or sampled.
    """
    rates = plan.rates.get(stream)
    if rates is None:
        planned = around(plan)(stream)[1].costs.sample.rows_per_second
        standing = RatePlans(RANGES.range_of(planned), planned)
    else:
        standing = rates
    band = RANGES.next_range(standing.band, rows_per_second)
    if band != standing.band:
        return _in_band(plan, stream, standing, RatePlans(band, rows_per_second), around)
    if rates is not None:
        return plan
    return _with_rates(plan, stream, replace(standing, rows_per_second=rows_per_second))


def _in_band(
    plan: SharedPlan,
    stream: Name,
    before: RatePlans,
    now: RatePlans,
    around: Callable[[SharedPlan], Around],
) -> SharedPlan:
    """By the groups that the range had when it was left, or by new ones."""
    others = {other.band: other for other in before.others}
    others[before.band] = _remembered(plan, stream, before)
    entered = others.pop(now.band, None)
    if entered is None:
        entered = RatePlan(now.band, now.rows_per_second)
    rates = RatePlans(now.band, entered.rows_per_second, tuple(others.values()))
    costs = {**plan.rebuild_costs, stream: entered.points}
    turned = _with_rates(replace(plan, rebuild_costs=costs), stream, rates)
    return regrouped(turned, stream, around(turned), _recalled(plan, stream, entered))


def _remembered(plan: SharedPlan, stream: Name, rates: RatePlans) -> RatePlan:
    groups = tuple(
        NamedGroup(tuple(query.name for query in group.queries), group.routed)
        for group in groups_of(plan, stream)
    )
    points = plan.rebuild_costs.get(stream, ())
    return RatePlan(rates.band, rates.rows_per_second, groups, points)


def _recalled(plan: SharedPlan, stream: Name, entered: RatePlan) -> tuple[Group, ...]:
    """The groups with those of their queries that still stand."""
    queries = {query.name: query for query in plan.queries_of(stream)}
    return tuple(
        Group(tuple(queries[name] for name in group.queries), group.routed)
        for group in entered.groups
    )


def _with_rates(plan: SharedPlan, stream: Name, rates: RatePlans) -> SharedPlan:
    return replace(plan, rates={**plan.rates, stream: rates})
