"""Random windows as the thesis draws them, and everything known of one draw.

Slides are Zipf with rank 1 = one second: small slides are frequent. The thesis says the
opposite, but only this direction gives its figures (docs/weaving.md).
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tidemill.share.weave import (
    Cost,
    Linkage,
    Operations,
    Processing,
    Workload,
    link,
    stage_costs,
)
from tidemill.windows import WindowSpec

US = 1_000_000
LONGEST_SLIDE_S = 100_000


def draw(
    count: int, seed: int, skew: float = 0.6, overlap: int = 50, longest: int = LONGEST_SLIDE_S
) -> list[WindowSpec]:
    """Slides by Zipf; a range is 1 to `overlap` slides, any real number, in whole seconds."""
    random = np.random.default_rng(seed)
    shares = np.arange(1, longest + 1, dtype=np.float64) ** -skew
    slides = 1 + random.choice(longest, count, p=shares / shares.sum())
    ranges = np.rint(random.uniform(1, overlap, count) * slides)
    return [WindowSpec(int(r) * US, int(s) * US) for r, s in zip(ranges, slides, strict=True)]


def mean_row(rows: list[dict[str, float]]) -> dict[str, float]:
    """Of rows with the same names."""
    return {name: statistics.mean(row[name] for row in rows) for name in rows[0]}


@dataclass(frozen=True)
class Woven:
    """One draw with its greedy run to the end, which holds the plans of every rate."""

    load: Workload

    @classmethod
    def of(cls, windows: list[WindowSpec]) -> Woven:
        return cls(Workload.of(windows))

    @property
    def count(self) -> int:
        return len(self.load.windows)

    @cached_property
    def linkage(self) -> Linkage:
        return link(self.load, Processing.TREES, Operations(Fraction(0)))

    @cached_property
    def _finals(self) -> list[float]:
        """Per second, after each merge."""
        return [float(f / self.load.timeline.seconds) for f in self.linkage.finals_after()]

    def none(self, rate: float) -> float:
        return self.count * rate + self._finals[0]

    def shared(self, rate: float) -> float:
        return rate + self._finals[-1]

    def weave(self, rate: float) -> tuple[float, int]:
        """Cost and number of trees of the cheapest stage."""
        return min((self._trees(k) * rate + f, self._trees(k)) for k, f in enumerate(self._finals))

    def triweave(self, rate: float) -> tuple[float, int]:
        """Cost and number of groups; one group bypasses the intercede."""
        edges = float(self.load.edge_rate)
        stages = enumerate(self._finals[:-1])
        costs = [(rate + self._trees(k) * edges + f, self._trees(k)) for k, f in stages]
        return min([*costs, (self.shared(rate), 1)])

    def bound(self, rate: float) -> float:
        """The rows read once, every window by its own edges: no plan does better."""
        return rate + self._finals[0]

    def costs(self, rate: float) -> dict[str, float]:
        weave, trees = self.weave(rate)
        triweave, groups = self.triweave(rate)
        return {
            "NoShare": self.none(rate),
            "Shared": self.shared(rate),
            "Weave Share": weave,
            "trees": trees,
            "TriWeave": triweave,
            "groups": groups,
            "lower bound": self.bound(rate),
        }

    def greedy_cost(self, processing: Processing, rate: float) -> Cost:
        """Of the greedy as the thesis stops it, without a guard."""
        model = Operations(Fraction(rate))
        stop = self.linkage.stop_at(model.charge(processing, self.load.edge_rate))
        return stage_costs(self.load, self.linkage, processing, model)[stop]

    def _trees(self, merges: int) -> int:
        return self.count - merges
