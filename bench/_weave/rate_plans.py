"""One plan for each range of input rates: the decision which to use now, and which to make.

Nothing is computed here. The engine keeps no such plans: it makes one when the range changes.

>>> ranges = RateRanges((50.0, 300.0, 10_000.0), margin=0.25)
>>> memo = RateMemo[str]().with_plan(0, "calm").with_plan(1, "brisk")
>>> observe(ranges, memo, 100.0).plan
'calm'
>>> memo = observe(ranges, memo, 100.0).memo
>>> observe(ranges, memo, 140.0).plan, observe(ranges, memo, 160.0).plan
('calm', 'brisk')
>>> decision = observe(ranges, memo, 9_000.0)
>>> decision.plan, decision.to_make
('brisk', (2,))
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from tidemill.share.weave.rate_ranges import RateRanges

P = TypeVar("P")


@dataclass(frozen=True)
class RateMemo(Generic[P]):
    """The range in force and the plans that are made, by range."""

    current: int | None = None
    plans: tuple[tuple[int, P], ...] = ()

    def with_plan(self, number: int, plan: P) -> RateMemo[P]:
        kept = tuple((other, made) for other, made in self.plans if other != number)
        return replace(self, plans=tuple(sorted((*kept, (number, plan)), key=lambda p: p[0])))


@dataclass(frozen=True)
class RateDecision(Generic[P]):
    """The plan to run now, None before any is made, and the ranges to plan, in that order."""

    memo: RateMemo[P]
    plan: P | None
    to_make: tuple[int, ...]


def observe(ranges: RateRanges, memo: RateMemo[P], rows_per_second: float) -> RateDecision[P]:
    """The plan of the range, or of the nearest range that has one while it is being made.

    The plan in force is to be made first. The others follow once nothing at all is made, which
    is how a rebuild begins.
    """
    current = ranges.next_range(memo.current, rows_per_second)
    made = dict(memo.plans)
    nearest = min(made, key=lambda number: (abs(number - current), number), default=None)
    others = () if made else tuple(n for n in range(len(ranges.rates)) if n != current)
    to_make = () if current in made else (current, *others)
    plan = None if nearest is None else made[nearest]
    return RateDecision(replace(memo, current=current), plan, to_make)
