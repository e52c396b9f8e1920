"""Plans by range of input rates: the one in force, and those that the stream may come back to.

What a plan costs depends on the rate, so another rate may want other groups. A rate must leave its
range by a margin before anything happens, and the groups of a range that is left are remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tidemill.language.names import Name
from tidemill.share.growth import Around, Regrouping, groups_of
from tidemill.share.model import NamedGroup, RatePlan, RatePlans, SharedPlan
from tidemill.share.optimiser import Context, Group
from tidemill.share.weave import RateRanges

# Each plan serves the rates about a power of ten.
RANGES = RateRanges(tuple(10.0**power for power in range(10)))


@dataclass(frozen=True)
class Turn:
    """A plan whose rates are those of another range, and whose queries are grouped as before.

    They are to be grouped by that range, and `recalled` are the groups it had when it was left.
    """

    plan: SharedPlan
    stream: Name
    recalled: tuple[Group, ...]

    @property
    def band(self) -> int:
        """The range of rates that it is for."""
        return self.plan.rates[self.stream].band

    def regrouping(self, context: Context) -> Regrouping:
        """By the groups recalled, or by new ones; `context` is that of the turned plan."""
        return Regrouping.of(self.plan, self.stream, context, self.recalled)


def turn(
    plan: SharedPlan, stream: Name, rows_per_second: float, planned: float
) -> Turn | SharedPlan:
    """What a measured rate turns a plan to, or the plan by it if its range stays.

    It is the same plan if nothing changes. The first rate that is measured takes the place of the
    one `planned` by, which was guessed or sampled.
    """
    rates = plan.rates.get(stream)
    standing = RatePlans(RANGES.range_of(planned), planned) if rates is None else rates
    band = RANGES.next_range(standing.band, rows_per_second)
    if band != standing.band:
        return _turned(plan, stream, standing, RatePlans(band, rows_per_second))
    if rates is not None:
        return plan
    return _with_rates(plan, stream, replace(standing, rows_per_second=rows_per_second))


def follow_rate(
    plan: SharedPlan, stream: Name, rows_per_second: float, around: Callable[[SharedPlan], Around]
) -> SharedPlan:
    """The plan for the range that a measured rate is in by now; the same plan if that stays."""
    planned = around(plan)(stream)[1].costs.sample.rows_per_second
    turned = turn(plan, stream, rows_per_second, planned)
    if isinstance(turned, SharedPlan):
        return turned
    position, context = around(turned.plan)(stream)
    return turned.regrouping(context).applied(turned.plan, stream, position, context)


def _turned(plan: SharedPlan, stream: Name, before: RatePlans, now: RatePlans) -> Turn:
    others = {other.band: other for other in before.others}
    others[before.band] = _remembered(plan, stream, before)
    entered = others.pop(now.band, None)
    if entered is None:
        entered = RatePlan(now.band, now.rows_per_second)
    rates = RatePlans(now.band, entered.rows_per_second, tuple(others.values()))
    costs = {**plan.rebuild_costs, stream: entered.points}
    turned = _with_rates(replace(plan, rebuild_costs=costs), stream, rates)
    return Turn(turned, stream, _recalled(plan, stream, entered))


def _remembered(plan: SharedPlan, stream: Name, rates: RatePlans) -> RatePlan:
    groups = tuple(
        NamedGroup(tuple(query.name for query in group.queries), group.routed)
        for group in groups_of(plan, stream)
    )
    points = plan.rebuild_costs.get(stream, ())
    return RatePlan(rates.band, rates.rows_per_second, groups, points)


def _recalled(plan: SharedPlan, stream: Name, entered: RatePlan) -> tuple[Group, ...]:
    """The groups with those of their queries that still stand."""
    queries = {query.name: query for query in plan.parts_of(stream)}
    return tuple(
        Group(tuple(queries[name] for name in group.queries), group.routed)
        for group in entered.groups
    )


def _with_rates(plan: SharedPlan, stream: Name, rates: RatePlans) -> SharedPlan:
    return replace(plan, rates={**plan.rates, stream: rates})
