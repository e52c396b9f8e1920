"""The interval kernel: slices combined in runs of 1, 2, 4, …, a window from a few of them.

An idempotent algebra may count a slice twice, so two overlapping runs answer any window (a
sparse table). Any other is answered from aligned runs, none of them overlapping (Golab's
interval synopsis). Levels are made when a window first needs them. Order is kept, so the
algebra need not be commutative.

>>> from tidemill.aggregates.algebra import INTEGER_MAX
>>> runs = Interval(np.array([[3], [1], [2]]), INTEGER_MAX)
>>> runs.windows(np.array([0, 1]), np.array([2, 3])).ravel()
array([3, 2])
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tidemill.aggregates.algebra import Algebra
from tidemill.aggregates.elementwise import put
from tidemill.arrays import Array, IntArray

# (level, runs wanted of it, by which windows) ⇒ the values of those runs.
Take = Callable[[int, IntArray, IntArray], Array]


class Interval:
    """Windows combined, never by subtraction; empty windows give the identity.

    Infinities of both signs in one float sum give NaN, as they do in Spark.
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
