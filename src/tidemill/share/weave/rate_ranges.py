"""One plan for each range of input rates, and the decision when to go from one to another.

Where a plan's cost depends on the rate (trees, not TriOps), a plan is kept for each of a few
rates. Nothing is computed here: the decision names the plan to use now and those to make.

>>> ranges = RateRanges((50.0, 300.0, 10_000.0), margin=0.25)
>>> memo = RateMemo[str]().with_plan(0, "calm").with_plan(1, "brisk")
>>> [ranges.range_of(rate) for rate in (1, 100, 200, 9_000)]
[0, 0, 1, 2]
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

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Generic, TypeVar

P = TypeVar("P")


@dataclass(frozen=True)
class RateRanges:
    """Rates, ascending, for which plans are made; each serves the rates nearest by ratio.

    The defaults are those of the experiments. A rate must pass a bound by the margin before
    the range changes, so that one near a bound does not make the plan flicker.
    """

    rates: tuple[float, ...] = (50.0, 300.0, 10_000.0)
    margin: float = 0.25

    @cached_property
    def bounds(self) -> tuple[float, ...]:
        return tuple(math.sqrt(low * high) for low, high in pairwise(self.rates))

    def range_of(self, rows_per_second: float) -> int:
        return bisect_right(self.bounds, rows_per_second)

    def next_range(self, current: int | None, rows_per_second: float) -> int:
        """The range to be in now, given the one before."""
        target = self.range_of(rows_per_second)
        if current is None or target == current:
            return target
        rises = target > current
        ratio = rows_per_second / self.bounds[current if rises else current - 1]
        passed = ratio if rises else 1 / ratio if ratio else math.inf
        return target if passed > 1 + self.margin else current


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
    """What to run now (None before any plan is made) and which ranges to plan, in that order."""

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
