"""The affinity of windows: edges in common, as a share. It explains; costs decide.

>>> a, b = WindowSpec(12, 9), WindowSpec(10, 6)
>>> pair = affinity([a], [b])
>>> pair.weaveability, pair.containment
(Fraction(1, 4), Fraction(1, 2))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tidemill.share.weave.density import MOST_EXACT_CLASSES, drawn_density, union_density
from tidemill.share.weave.timeline import HORIZON_SLIDES, Timeline
from tidemill.windows import WindowSpec, edge_classes

_US_PER_SECOND = 1_000_000


@dataclass(frozen=True)
class EdgeRate:
    """Edges per second, and whether that is exact."""

    per_second: Fraction
    exact: bool


@dataclass(frozen=True)
class Affinity:
    """Edge rates of two sets of windows: each, in common, together."""

    left: Fraction
    right: Fraction
    together: Fraction
    exact: bool

    @property
    def common(self) -> Fraction:
        return self.left + self.right - self.together

    @property
    def weaveability(self) -> Fraction:
        """Common edges among all edges: 1 when both cut time alike."""
        return self.common / self.together

    @property
    def containment(self) -> Fraction:
        """Common edges among those of the rarer set: 1 when the other has them all."""
        return self.common / min(self.left, self.right)


def rate_of(windows: Sequence[WindowSpec]) -> EdgeRate:
    """By closed form when few classes common_class, else by counting, else by drawing.

    Counting is exact over a composite slide and an estimate over a long horizon; where a
    horizon would have to be too long, members are drawn.
    """
    classes = edge_classes(windows)
    if len(classes) <= MOST_EXACT_CLASSES:
        return EdgeRate(union_density(classes) * _US_PER_SECOND, exact=True)
    timeline = Timeline.of(windows)
    if timeline.exact or timeline.span_us >= HORIZON_SLIDES * classes[-1].period_us:
        return EdgeRate(timeline.rate(int(timeline.mask(windows).sum())), timeline.exact)
    return EdgeRate(Fraction(drawn_density(classes) * _US_PER_SECOND), exact=False)


def affinity(left: Sequence[WindowSpec], right: Sequence[WindowSpec]) -> Affinity:
    """The affinity of two windows is exact; that of many is measured on one timeline."""
    union = [*left, *right]
    sets = (left, right, union)
    if len(edge_classes(union)) <= MOST_EXACT_CLASSES:
        exact = [rate_of(windows).per_second for windows in sets]
        return Affinity(exact[0], exact[1], exact[2], exact=True)
    line = Timeline.of(union)
    x, y, xy = (line.rate(int(line.mask(windows).sum())) for windows in sets)
    return Affinity(x, y, xy, line.exact)
