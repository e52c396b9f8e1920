"""Blocks of windows and groups whose lanes have been combined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tidemill.aggregates import Bags, Encoded, Lane, LaneArray
from tidemill.aggregates.sketches import SketchLane
from tidemill.answer.joined.sides import spread
from tidemill.arrays import BoolArray, IntArray
from tidemill.state.cells import Cells
from tidemill.state.layouts.bag_runs import Runs, SortedBags
from tidemill.state.layouts.cell_runs import AnyRuns
from tidemill.state.layouts.lane_values import CombinedValues
from tidemill.state.sketched.rows import Reader, SketchRows, SketchRuns

# A lane as it is asked about: values, or what is not combined before that.
Readable = CombinedValues | SortedBags | SketchRows


@dataclass(frozen=True)
class RowsChunk:
    """Cells of the join, whose slices are numbers of looks."""

    cells: Cells
    lanes: tuple[Lane, ...]

    def blocks(self, look: IntArray) -> Iterator[RowsBlock]:
        """The windows that look at these cells, and no others."""
        slices = self.cells.slices
        place = np.minimum(np.searchsorted(slices, look), len(slices) - 1)
        windows = np.flatnonzero(slices[place] == look)
        first, sizes = (by_slice[place[windows]] for by_slice in self._runs)
        rows = self._order[spread(first, sizes)]
        window = np.repeat(windows, sizes)
        yield RowsBlock(window, self.cells.group[rows], rows, self._readable)

    @cached_property
    def _order(self) -> IntArray:
        return np.lexsort((self.cells.group, self.cells.slice_index))

    @cached_property
    def _runs(self) -> tuple[IntArray, IntArray]:
        """By look, where its cells begin in that order, and how many they are."""
        sizes = np.bincount(self.cells.slice_index, minlength=len(self.cells.slices))
        return np.cumsum(sizes) - sizes, sizes

    @cached_property
    def _readable(self) -> tuple[Readable, ...]:
        return tuple(map(_readable, self.lanes, self.cells.lanes))


@dataclass(frozen=True)
class RowsBlock:
    """Rows of cells by window and group."""

    window: IntArray
    group: IntArray
    rows: IntArray
    lanes: tuple[Readable, ...]  # of all rows of the cells

    @property
    def shape(self) -> tuple[int]:
        return (len(self.window),)

    @property
    def present(self) -> BoolArray | None:
        return None

    def lane(self, number: int) -> CombinedValues | AnyRuns:
        lane, rows = self.lanes[number], self.rows
        if isinstance(lane, SortedBags):
            return Runs(lane, rows, rows + 1)
        if isinstance(lane, SketchRows):
            return SketchRuns(lane, rows, rows + 1)
        values, valid = lane
        return values.take(rows, axis=0), None if valid is None else valid[rows]

    def at(self, cells: IntArray) -> RowsBlock:
        window, group, rows = (numbers[cells] for numbers in (self.window, self.group, self.rows))
        return replace(self, window=window, group=group, rows=rows)


def _readable(lane: Lane, lane_rows: LaneArray) -> Readable:
    if isinstance(lane_rows, Bags):
        return SortedBags(lane_rows)
    assert isinstance(lane_rows, Encoded)
    if isinstance(lane, SketchLane):
        every_row = np.arange(len(lane_rows.values))
        return SketchRows(Reader(lane, lane_rows.values), every_row)
    return lane_rows.values, lane_rows.valid
