"""A block of looks and groups whose lanes have been combined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tidemill.aggregates import Bags, Encoded, Lane, LaneArray
from tidemill.aggregates.sketches import SketchLane
from tidemill.arrays import BoolArray, IntArray
from tidemill.state.cells import Cells
from tidemill.state.layouts.bag_runs import Runs, SortedBags
from tidemill.state.layouts.cell_runs import AnyRuns
from tidemill.state.layouts.lane_values import CombinedValues
from tidemill.state.sketched.rows import Reader, SketchRows, SketchRuns

# A lane as it is asked about: values, or what is not combined before that.
Readable = CombinedValues | SortedBags | SketchRows


@dataclass(frozen=True)
class RowsBlock:
    """Some rows of cells, by look and group; no two are the same look and group."""

    window: IntArray
    group: IntArray
    rows: IntArray
    lanes: tuple[Readable, ...]  # of all rows of the cells

    @staticmethod
    def of(cells: Cells, lanes: Sequence[Lane]) -> RowsBlock:
        rows = np.lexsort((cells.group, cells.slice_index))
        window = cells.slices[cells.slice_index[rows]]
        readable = [_readable(lane, mine) for lane, mine in zip(lanes, cells.lanes, strict=True)]
        return RowsBlock(window, cells.group[rows], rows, tuple(readable))

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
