"""Ranges of input rates, each planned for by one rate, and when to go from one to another.

Where a plan's cost depends on the rate (trees, not TriOps), the plan changes with the range.

>>> ranges = RateRanges((50.0, 300.0, 10_000.0), margin=0.25)
>>> [ranges.range_of(rate) for rate in (1, 100, 200, 9_000)]
[0, 0, 1, 2]
>>> ranges.next_range(0, 140.0), ranges.next_range(0, 160.0)
(0, 1)
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise


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
