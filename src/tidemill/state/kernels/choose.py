"""Which kernel answers a set of windows soonest, by estimated time; and its use.

Golab's rule for synopses, that a basic interval one beats an interval one once enough queries
share each execution, compares counts of merges. Here all kernels run over arrays, where
a merge inside a long NumPy call costs a quarter of a nanosecond and a call costs a microsecond,
so the rule weighs both. The weights were fitted by hand to 285 cases timed on two cores (100 to
100,000 slices, 5 to 100,000 windows of 2 to 50,000 slices, 1 to 1,000 groups). On these same
cases the chosen kernel takes 1.03 times the best one's time on the geometric mean, 2.8 times at
worst.

>>> from tidemill.aggregates.algebra import COUNT, FLOAT_SUM
>>> lo = np.arange(900); hi = lo + 100
>>> choose(COUNT, 1000, lo, hi, groups=20), choose(FLOAT_SUM, 1000, lo, hi, groups=20)
('running', 'interval')
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from tidemill.aggregates.algebra import Algebra
from tidemill.aggregates.elementwise import Elementwise
from tidemill.arrays import Array, IntArray
from tidemill.state.kernels.basic import BASIC_WIDE_ELEMENTS, Basic
from tidemill.state.kernels.interval import Interval
from tidemill.state.kernels.running import RUNNING_WIDE_ELEMENTS, Running

Kernel = Literal["running", "interval", "basic"]


class Combiner(Protocol):
    """Slices made ready for windows `lo:hi` of them."""

    def windows(self, lo: IntArray, hi: IntArray) -> Array:
        """All groups of each window."""

    def at(self, lo: IntArray, hi: IntArray, group: IntArray) -> Array:
        """One group of each window."""


class MakeCombiner(Protocol):
    def __call__(self, cells: Array, algebra: Algebra) -> Combiner: ...


KERNELS: dict[Kernel, MakeCombiner] = {
    "running": Running,
    "interval": Interval,
    "basic": Basic,
}


def combiner(cells: Array, lo: IntArray, hi: IntArray, algebra: Algebra) -> Combiner:
    """The slices in the hands of the kernel that `choose` names for windows like these."""
    kernel = choose(algebra, len(cells), lo, hi, cells[:1].size)
    return KERNELS[kernel](cells, algebra)


def choose(algebra: Algebra, slices: int, lo: IntArray, hi: IntArray, groups: int) -> Kernel:
    """The kernel with the least estimated time; ties go to the one with the least memory.

    `groups` is the number of elements in a slice; with limbs, groups times limbs.
    """
    costs = costs_ns(algebra, slices, lo, hi, groups)
    return min(costs, key=lambda kernel: costs[kernel])


def costs_ns(
    algebra: Algebra, slices: int, lo: IntArray, hi: IntArray, groups: int
) -> dict[Kernel, float]:
    """Estimated nanoseconds of each kernel that the algebra allows."""
    lengths = np.maximum(hi - lo, 0)
    windows, merged = len(lengths), int(lengths.sum())
    levels = int(lengths.max(initial=0)).bit_length()
    if isinstance(algebra.combine, Elementwise):
        return _states_ns(algebra, slices, windows, merged, levels, groups)
    costs: dict[Kernel, float] = {
        "basic": _basic_ns(algebra, slices, windows, merged, groups),
        "interval": _interval_ns(algebra, slices, windows, levels, groups),
    }
    if algebra.subtractable:
        costs["running"] = _running_ns(slices, windows, groups)
    return costs


def _states_ns(
    algebra: Algebra, slices: int, windows: int, merged: int, levels: int, groups: int
) -> dict[Kernel, float]:
    """Records: what is combined is copied, too, some tens of nanoseconds for each."""
    costs: dict[Kernel, float] = {
        "basic": 20_000 * windows + 50 * groups * merged,
        "interval": 50_000 * levels + 50 * groups * (slices + (2 + levels) * windows),
    }
    if algebra.subtractable:
        costs["running"] = 20_000 * slices + 50 * groups * (slices + windows)
    return costs


def _basic_ns(algebra: Algebra, slices: int, windows: int, merged: int, groups: int) -> float:
    if groups >= BASIC_WIDE_ELEMENTS:
        return 1200 * windows + groups * (0.2 * merged + 0.5 * windows)
    # `reduceat` has no fast inner loop for minima and maxima of several columns.
    merge_ns = 1.5 if algebra.idempotent and groups > 1 else 0.3
    return 8000 + 27 * windows + groups * (0.4 * slices + merge_ns * merged + 15 * windows)


def _interval_ns(algebra: Algebra, slices: int, windows: int, levels: int, groups: int) -> float:
    if algebra.idempotent:
        return 12_000 * levels + groups * (0.6 * slices * levels + 6 * windows)
    return 20_000 * levels + groups * (slices + (5 + 3 * levels) * windows)


def _running_ns(slices: int, windows: int, groups: int) -> float:
    if groups >= RUNNING_WIDE_ELEMENTS:
        return 700 * slices + groups * (slices + 3 * windows)
    return 5000 + groups * (2.5 * slices + 3 * windows)
