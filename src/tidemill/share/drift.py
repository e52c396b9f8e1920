"""The drift of a plan that followed its queries by small steps.

Plans that are made anew leave points, numbers of queries and costs. The line through the last two
says what another one should cost. That line is only as good as its points, and costs do not fall
when queries come: a plan is also measured again when its cost has outgrown the last point.
"""

from __future__ import annotations

from fractions import Fraction

from tidemill.share.weave.model import Cost

# Number of queries and cost, of the last two plans that were made anew.
CostPoints = tuple[tuple[int, float], ...]


def has_drifted(points: CostPoints, queries: int, cost: float, percent: int) -> bool:
    """Says whether a plan costs more than expected by more than so many percent."""
    expected = float(extrapolated(points, queries))
    return bool(points) and expected > 0 and cost / expected - 1 > percent / 100


def has_outgrown(points: CostPoints, queries: int, cost: float, percent: int) -> bool:
    """Says whether the last point no longer proves the plan to be within so many percent.

    A plan of more queries costs no less than that of some of them. One of fewer is taken to cost
    its share.

    >>> [has_outgrown(((10, 100.0),), queries, 120.0, percent=25) for queries in (12, 10, 9)]
    [False, False, True]
    """
    last, least = points[-1]
    return cost > least * min(1, queries / last) * (1 + percent / 100)


def extrapolated(points: tuple[tuple[int, Cost], ...], count: int) -> Cost:
    """The line through the last two costs; with one, through the origin."""
    if not points:
        return Fraction(0)
    (before, cheap), (last, dear) = ((0, Fraction(0)), *points)[-2:]
    if before == last:
        before, cheap = 0, Fraction(0)
    return dear + (dear - cheap) / max(1, last - before) * (count - last)
