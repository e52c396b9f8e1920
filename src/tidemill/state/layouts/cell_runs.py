"""Runs of cells: the cells that one window has of one group, in either layout.

Cells lie sorted by group and slice, so these are neighbours. Bags and sketches are not combined
ahead of time: a question about a window is answered from its run.
"""

from __future__ import annotations

import numpy as np

from tidemill.aggregates import Bags
from tidemill.aggregates.loops.bags import sort_by
from tidemill.arrays import IntArray
from tidemill.state.layouts.bag_runs import Runs, SortedBags
from tidemill.state.sketched.rows import SketchRows, SketchRuns

# What is not combined before it is asked about.
Apart = Bags | SketchRows
AnyRuns = Runs | SketchRuns


class _Cells:
    """Cells sorted by group and slice."""

    def __init__(self, cells: Apart) -> None:
        self._cells = SortedBags(cells) if isinstance(cells, Bags) else cells

    def _runs(self, first: IntArray, last: IntArray) -> AnyRuns:
        if isinstance(self._cells, SketchRows):
            return SketchRuns(self._cells, first, last)
        return Runs(self._cells, first, last)


class RunColumn(_Cells):
    """The sparse layout, whose windows are runs of cells as they are."""

    def windows(self, lo: IntArray, hi: IntArray) -> AnyRuns:
        return self._runs(lo, hi)


class RunMatrix(_Cells):
    """Slices by groups: cells are sorted once, and a window is looked up in where those of each
    slice and group begin."""

    def __init__(
        self, cells: Apart, at: IntArray, group: IntArray, slices: int, groups: int
    ) -> None:
        order, self._begin = sort_by(group * slices + at, groups * slices)
        super().__init__(cells.take(order))
        self._slices, self._groups = slices, np.arange(groups)

    def windows(self, lo: IntArray, hi: IntArray) -> AnyRuns:
        """All groups of each window."""
        first = self._slices * self._groups
        begin, end = (self._begin[bound[:, None] + first].ravel() for bound in (lo, hi))
        return self._runs(begin, end)

    def at(self, lo: IntArray, hi: IntArray, group: IntArray) -> AnyRuns:
        """One group of each window."""
        first = self._slices * group
        return self._runs(self._begin[first + lo], self._begin[first + hi])
