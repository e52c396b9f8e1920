"""The density of a union of edge classes: exact where few classes meet, else by drawing.

Two classes meet in one class or not at all (Chinese remainders), so the density of a union
unfolds like inclusion and exclusion, with what is contained dropped on the way.

>>> common_class(EdgeClass(3, 5), EdgeClass(1, 4))
EdgeClass(offset_us=13, period_us=20)
>>> common_class(EdgeClass(0, 4), EdgeClass(1, 2)) is None
True
>>> union_density([EdgeClass(0, 5), EdgeClass(3, 5), EdgeClass(0, 4), EdgeClass(1, 4)])
Fraction(7, 10)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from tidemill.windows import EdgeClass, pruned_classes

# Each further class may double the work; two windows have at most four.
MOST_EXACT_CLASSES = 10
# Draws are taken from a span this long: members of any class in it fit 64 bits.
_DRAWN_SPAN_US = 2**61


def common_class(a: EdgeClass, b: EdgeClass) -> EdgeClass | None:
    """The class of the instants in both classes; None if there are none."""
    shared = math.gcd(a.period_us, b.period_us)
    gap, apart = divmod(b.offset_us - a.offset_us, shared)
    if apart:
        return None
    steps = gap * pow(a.period_us // shared, -1, b.period_us // shared)
    steps %= b.period_us // shared
    return EdgeClass(a.offset_us + steps * a.period_us, math.lcm(a.period_us, b.period_us))


def union_density(classes: Iterable[EdgeClass]) -> Fraction:
    """Instants per microsecond in any of the classes; exact, and meant for a few of them."""
    total = Fraction(0)
    rest = list(pruned_classes(classes))
    while rest:
        # The densest last: what it shares with the others is then mostly contained.
        first = rest.pop()
        common = (common_class(first, other) for other in rest)
        total += Fraction(1, first.period_us)
        total -= union_density(edge for edge in common if edge is not None)
    return total


def drawn_density(classes: Sequence[EdgeClass], draws: int = 2**14, seed: int = 0) -> float:
    """The same, estimated after Karp and Luby.

    Draw a class by its density and a member of it; the mean of one over the number of classes
    that hold the member, times the sum of densities, is the density of the union. The relative
    error is about `sqrt(len(classes) / draws)` at worst and needs no common period.
    """
    random = np.random.default_rng(seed)
    periods = np.array([edge.period_us for edge in classes], np.int64)
    offsets = np.array([edge.offset_us for edge in classes], np.int64)
    chosen = random.choice(periods.size, draws, p=(1 / periods) / (1 / periods).sum())
    steps = random.integers(0, _DRAWN_SPAN_US // periods[chosen])
    members = offsets[chosen] + steps * periods[chosen]
    holders = np.zeros(draws, np.int64)
    for offset, period in zip(offsets, periods, strict=True):
        holders += (members - offset) % period == 0
    return float((1 / holders).mean() * (1 / periods).sum())
