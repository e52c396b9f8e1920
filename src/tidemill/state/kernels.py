"""Combine kernels: slices along axis 0 in, one value per window out, and the choice of a kernel.

`cells` has shape (slices, groups) or (slices, groups, limbs); window w is `cells[lo[w]:hi[w]]`.
A kernel prepares the cells once and is then asked for whole windows or for single groups of
them. All kernels give the same answers; `kernels.md` beside this file has a card for each, and
says by which measurements one is chosen.

>>> from tidemill.aggregates.algebra import COUNT, FLOAT_SUM, INTEGER_MAX
>>> lo, hi = np.array([0, 1]), np.array([2, 3])
>>> totals = Running(np.array([[1, 8], [2, 8], [4, 8]]), COUNT)
>>> totals.windows(lo, hi).tolist(), totals.at(lo[1:], hi[1:], np.array([0])).tolist()
([[3, 16], [6, 16]], [6])
>>> Interval(np.array([[3], [1], [2]]), INTEGER_MAX).windows(lo, hi).ravel().tolist()
[3, 2]
>>> Basic(np.array([[1.5], [2.0], [4.0]]), FLOAT_SUM).windows(lo, hi).ravel().tolist()
[3.5, 6.0]
>>> lo = np.arange(900); hi = lo + 100
>>> choose(COUNT, 1000, lo, hi, groups=20), choose(FLOAT_SUM, 1000, lo, hi, groups=20)
('running', 'interval')
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from tidemill.aggregates.algebra import Algebra
from tidemill.aggregates.elementwise import Elementwise, put
from tidemill.aggregates.loops import columns
from tidemill.arrays import Array, IntArray
from tidemill.compiling import is_worth_loading

# From this many elements a slice on, adding slice by slice (0.7 µs and 0.3 ns an element)
# beats `accumulate` along axis 0 (2 to 3 ns an element).
RUNNING_WIDE_ELEMENTS = 256


class Running:
    """Totals from the first slice on, a window as the difference of two; an empty one is the
    identity.

    64-bit totals wrap around and their differences wrap back, so a total may overflow: an
    element is exact whenever its own window's sum fits 64 bits. With normalised limbs (below
    2^32) that is any window of fewer than 2^31 slices.
    """

    def __init__(self, cells: Array, algebra: Algebra) -> None:
        algebra.require("subtractable", "running")
        self._subtract = algebra.subtract
        self._totals = np.empty((len(cells) + 1, *cells.shape[1:]), cells.dtype)
        self._totals[0] = algebra.identity
        _accumulate(cells, self._totals, algebra)

    @property
    def _is_plain(self) -> bool:
        """True of totals that are numbers."""
        return self._totals.ndim == 2 and self._subtract is np.subtract

    def windows(self, lo: IntArray, hi: IntArray) -> Array:
        totals = self._totals
        result: Array
        if self._is_plain and is_worth_loading(len(lo) * totals.shape[1]):
            result = np.empty((len(lo), totals.shape[1]), totals.dtype)
            columns.subtract_rows(totals, lo, hi, result)
        else:
            result = self._subtract(totals[hi], totals[lo])
        return result

    def at(self, lo: IntArray, hi: IntArray, group: IntArray) -> Array:
        totals, result = self._totals, np.empty(len(lo), self._totals.dtype)
        if self._is_plain and is_worth_loading(len(lo)):
            columns.subtract_ends(totals, lo, hi, group, result)
        else:
            result = self._subtract(totals[hi, group], totals[lo, group])
        return result


def _accumulate(cells: Array, totals: Array, algebra: Algebra) -> None:
    if cells[:1].size < RUNNING_WIDE_ELEMENTS:
        algebra.combine.accumulate(cells, axis=0, out=totals[1:])
        return
    for i in range(len(cells)):
        algebra.combine(totals[i], cells[i], out=totals[i + 1])


# (level, runs wanted of it, by which windows) ⇒ the values of those runs.
Take = Callable[[int, IntArray, IntArray], Array]


class Interval:
    """Slices combined in runs of 1, 2, 4, …, a window from a few of them, never by subtraction.

    An idempotent algebra may count a slice twice, so two overlapping runs answer any window (a
    sparse table). Any other is answered from aligned runs, none of them overlapping (Golab's
    interval synopsis). Levels are made when a window first needs them. Order is kept, so the
    algebra need not be commutative. Empty windows give the identity. Infinities of both signs
    in one float sum give NaN, as they do in Spark.
    """

    def __init__(self, cells: Array, algebra: Algebra) -> None:
        self._levels, self._algebra = [cells], algebra

    def windows(self, lo: IntArray, hi: IntArray) -> Array:
        shape = (len(lo), *self._levels[0].shape[1:])
        return self._combined(
            shape, lo, hi, lambda level, runs, _: self._level(level).take(runs, axis=0)
        )

    def at(self, lo: IntArray, hi: IntArray, group: IntArray) -> Array:
        def take(level: int, runs: IntArray, mine: IntArray) -> Array:
            cells = self._level(level)
            flat = cells.reshape(-1, *cells.shape[2:])
            taken: Array = flat.take(runs * cells.shape[1] + group[mine], axis=0)
            return taken

        return self._combined((len(lo), *self._levels[0].shape[2:]), lo, hi, take)

    def _combined(self, shape: tuple[int, ...], lo: IntArray, hi: IntArray, take: Take) -> Array:
        result = self._algebra.filled(shape, self._levels[0].dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            if self._algebra.idempotent:
                return self._overlapping(result, lo, hi, take)
            return self._aligned(result, lo, hi, take)

    def _overlapping(self, result: Array, lo: IntArray, hi: IntArray, take: Take) -> Array:
        lengths = hi - lo
        for level in range(int(lengths.max(initial=0)).bit_length()):
            windows = np.nonzero(lengths >> level == 1)[0]
            if windows.size:
                first, last = lo[windows], hi[windows] - (1 << level)
                runs = take(level, first, windows), take(level, last, windows)
                put(result, windows, self._algebra.combine(*runs))
        return result

    def _aligned(self, left: Array, lo: IntArray, hi: IntArray, take: Take) -> Array:
        """Climb the levels from both ends of each window, taking the run that sticks out."""
        combine, right, level = self._algebra.combine, left.copy(), 0
        first, last = lo.copy(), hi.copy()
        while np.any(first < last):
            odd = np.nonzero((first < last) & (first & 1 == 1))[0]
            put(left, odd, combine(left.take(odd, axis=0), take(level, first[odd], odd)))
            first[odd] += 1
            odd = np.nonzero((first < last) & (last & 1 == 1))[0]
            last[odd] -= 1
            put(right, odd, combine(take(level, last[odd], odd), right.take(odd, axis=0)))
            first, last, level = first >> 1, last >> 1, level + 1
        result: Array = combine(left, right)
        return result

    def _level(self, level: int) -> Array:
        """Runs of two to the level: every one if they may overlap, else the aligned ones."""
        while len(self._levels) <= level:
            runs, length = self._levels[-1], 1 << (len(self._levels) - 1)
            if self._algebra.idempotent:
                halves = runs[:-length], runs[length:]
            else:
                even = len(runs) // 2 * 2
                halves = runs[0:even:2], runs[1:even:2]
            self._levels.append(self._algebra.combine(*halves))
        return self._levels[level]


# Combines slices `lo:hi` of a group of the cells with what stands in an array for the results.
ColumnLoop = Callable[[Array, IntArray, IntArray, IntArray, Array], None]
# From this many elements a slice on, one `reduce` call a window (1.2 µs and 0.2 ns an element)
# beats one `reduceat` for all windows (0.3 to 2 ns an element).
BASIC_WIDE_ELEMENTS = 96


class Basic:
    """Slices as they are, and windows combined slice by slice; an empty one is the identity."""

    def __init__(self, cells: Array, algebra: Algebra) -> None:
        self._cells, self._algebra = cells, algebra

    def windows(self, lo: IntArray, hi: IntArray) -> Array:
        result = self._algebra.filled((len(lo), *self._cells.shape[1:]), self._cells.dtype)
        windows = np.nonzero(lo < hi)[0]
        if windows.size == 0:
            return result
        with np.errstate(invalid="ignore", over="ignore"):
            if self._cells[:1].size < BASIC_WIDE_ELEMENTS:
                result[windows] = _at_once(self._cells, lo[windows], hi[windows], self._algebra)
            else:
                _one_by_one(self._cells, lo, hi, self._algebra, result)
        return result

    def at(self, lo: IntArray, hi: IntArray, group: IntArray) -> Array:
        """The group of each window, whose slices are a run once they are laid out for it."""
        lengths = np.maximum(hi - lo, 0)
        slices, groups = self._cells.shape[:2]
        if int(lengths.sum()) > slices * groups:
            return self._by_group.windows(group * slices + lo, group * slices + hi)
        loop = _COLUMN_LOOPS.get(self._algebra.combine)
        if loop is not None and self._cells.ndim == 2 and is_worth_loading(int(lengths.sum())):
            result = self._algebra.filled(lo.shape, self._cells.dtype)
            loop(self._cells, lo, hi, group, result)
            return result
        end = np.cumsum(lengths)
        first = end - lengths
        at = np.arange(int(lengths.sum())) + np.repeat(lo - first, lengths)
        cells = self._cells[at, np.repeat(group, lengths)]
        return Basic(cells, self._algebra).windows(first, end)

    @cached_property
    def _by_group(self) -> Basic:
        """All slices of a group, then those of the next: worth it for many windows."""
        column = np.moveaxis(self._cells, 0, 1).reshape(-1, *self._cells.shape[2:])
        return Basic(column, self._algebra)


_COLUMN_LOOPS: dict[Any, ColumnLoop] = {
    np.add: columns.add_runs,
    np.minimum: columns.minimum_runs,
    np.maximum: columns.maximum_runs,
    np.fmin: columns.fmin_runs,
}


def _at_once(cells: Array, lo: IntArray, hi: IntArray, algebra: Algebra) -> Array:
    """`reduceat` over lo, hi, lo, hi, …; what it finds between windows is thrown away."""
    bounds = np.empty(2 * len(lo), dtype=np.int64)
    bounds[::2], bounds[1::2] = lo, hi
    # A bound must be an index, so the slice after the last has to exist.
    padded = np.concatenate([cells, cells[-1:]])
    result: Array = algebra.combine.reduceat(padded, bounds, axis=0)[::2]
    return result


def _one_by_one(cells: Array, lo: IntArray, hi: IntArray, algebra: Algebra, result: Array) -> None:
    for window, (first, last) in enumerate(zip(lo.tolist(), hi.tolist(), strict=True)):
        if first < last:
            algebra.combine.reduce(cells[first:last], axis=0, out=result[window])


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
