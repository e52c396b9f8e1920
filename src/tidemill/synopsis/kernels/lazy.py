"""The lazy kernel: runs of 1, 2, 4, … slices, each merged when a window first asks for it.

For states that are dear to merge, as sketches are. A window is put together from a few aligned
runs at once; a run that no window asks for in some group is never made there.

>>> from tidemill.aggregates.merging import Merging
>>> union = Algebra("union", Merging(lambda states: frozenset().union(*states)), None)
>>> slices = np.array([frozenset("a"), frozenset("b"), None], object)[:, None]
>>> [sorted(w) for w in Lazy(slices, union).windows(np.array([0, 1]), np.array([2, 3])).ravel()]
[['a', 'b'], ['b']]
"""

from __future__ import annotations

import numpy as np

from tidemill.aggregates.algebra import Algebra, AnyArray, BoolArray, IntArray
from tidemill.aggregates.merging import Merging


class Lazy:
    """Windows of objects; empty windows give the identity."""

    def __init__(self, cells: AnyArray, algebra: Algebra) -> None:
        algebra.require("commutative", "lazy")
        assert isinstance(algebra.combine, Merging), f"{algebra.name} does not merge objects"
        self._merging, self._shape = algebra.combine, cells.shape[1:]
        self._levels = [cells.reshape(len(cells), -1)]
        self._made: list[BoolArray] = [np.ones((0, 0), np.bool_)]

    def windows(self, lo: IntArray, hi: IntArray) -> AnyArray:
        groups = self._levels[0].shape[1]
        of_each = np.tile(np.arange(groups), len(lo))
        found = self._merged(np.repeat(lo, groups), np.repeat(hi, groups), of_each)
        return found.reshape(len(lo), *self._shape)

    def at(self, lo: IntArray, hi: IntArray, group: IntArray) -> AnyArray:
        return self._merged(lo, hi, group)

    def _merged(self, lo: IntArray, hi: IntArray, group: IntArray) -> AnyArray:
        """Climb the levels from both ends of each window, taking the run that sticks out."""
        first, last, level = lo.copy(), hi.copy(), 0
        states, owners = [np.zeros(0, object)], [np.zeros(0, np.int64)]
        while np.any(first < last):
            for is_first in (True, False):
                end = first if is_first else last
                odd = np.flatnonzero((first < last) & (end & 1 == 1))
                runs = end[odd] if is_first else end[odd] - 1
                states.append(self._taken(level, runs, group[odd]))
                owners.append(odd)
                end[odd] += 1 if is_first else -1
            first, last, level = first >> 1, last >> 1, level + 1
        return self._merging.at_places(np.concatenate(states), np.concatenate(owners), len(lo))

    def _taken(self, level: int, runs: IntArray, group: IntArray) -> AnyArray:
        """Some runs of two to the level, made where they are not."""
        if level:
            self._make(level, runs, group)
        taken: AnyArray = self._levels[level][runs, group]
        return taken

    def _make(self, level: int, runs: IntArray, group: IntArray) -> None:
        if level == len(self._levels):
            shape = (len(self._levels[-1]) // 2, self._levels[-1].shape[1])
            self._levels.append(np.full(shape, None, object))
            self._made.append(np.zeros(shape, np.bool_))
        groups = self._levels[level].shape[1]
        codes = np.unique((runs * groups + group)[~self._made[level][runs, group]])
        run, mine = np.divmod(codes, max(1, groups))
        if not len(run):
            return
        halves = (self._taken(level - 1, 2 * run + half, mine) for half in (0, 1))
        self._levels[level][run, mine] = self._merging(*halves)
        self._made[level][run, mine] = True
