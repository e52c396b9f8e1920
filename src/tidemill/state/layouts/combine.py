"""Windows over cells: two layouts, and the choice between them.

>>> from tidemill.aggregates.algebra import COUNT
>>> from tidemill.state.layouts.lane_values import LaneValues
>>> slices, groups = np.array([0, 0, 2]), np.array([0, 1, 1])
>>> lo, hi = np.array([0, 1]), np.array([2, 3])
>>> lane = LaneValues(np.array([5, 6, 7]), COUNT)
>>> cells = lay_out_cells(slices, groups, 2, 3, lo, hi, [lane], "sparse")
>>> (block,) = cells.blocks(lo, hi)
>>> block.window.tolist(), block.group.tolist(), block.lane(0)[0].tolist()
([0, 0, 1], [0, 1, 1], [5, 6, 7])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

import numpy as np

from tidemill.arrays import BoolArray, IntArray
from tidemill.state.layouts.cell_runs import AnyRuns
from tidemill.state.layouts.dense import DenseCells
from tidemill.state.layouts.lane_values import CombinedValues, LaneRows
from tidemill.state.layouts.sparse import SparseCells, rows_before

CellLayout = Literal["dense", "sparse", "auto"]

# Measured on two cores, with three lanes, in 129 cases (60 to 2,000 slices, 100 to 100,000
# groups, 0.1 % to all of the cells filled): a dense cell costs 4 to 100 ns, a sparse row or pair
# 70 to 270 ns. The layouts cross where there are 4 to 10 cells to a row or pair, and in
# that range neither takes more than about twice the other's time.
CELLS_PER_ROW = 6


class Block(Protocol):
    """Windows and groups side by side: a matrix of them, or a list of the pairs with rows.

    `window` and `group` number them and broadcast to `shape`; lanes come flattened. A lane
    that only a few cells need is asked for at those alone.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def window(self) -> IntArray: ...

    @property
    def group(self) -> IntArray: ...

    @property
    def present(self) -> BoolArray | None: ...

    def lane(self, number: int) -> CombinedValues | AnyRuns: ...

    def lane_at(self, number: int, cells: IntArray) -> CombinedValues | AnyRuns: ...

    def windows_at(self, cells: IntArray) -> IntArray: ...

    def groups_at(self, cells: IntArray) -> IntArray: ...


class LaidOut(Protocol):
    def blocks(self, lo: IntArray, hi: IntArray) -> Iterator[Block]:
        """Windows `lo:hi` of slices, in runs; a window is whole in one block, and an empty
        one in none. Windows whose `lo` ascends keep their order."""


def lay_out_cells(
    slice_index: IntArray,
    group: IntArray,
    groups: int,
    slices: int,
    lo: IntArray,
    hi: IntArray,
    lanes: Sequence[LaneRows],
    layout: CellLayout = "auto",
    rows: IntArray | None = None,
) -> LaidOut:
    """The rows made ready for windows like `lo:hi`.

    LaneRows are given in any order; `rows` says where the lanes of each are, if not all of them
    are meant. A lane of a window is not NULL where any row behind it was not NULL. Both
    layouts give the same answers, floats up to the order of addition.
    """
    if layout == "auto":
        layout = pick_layout(slice_index, groups, slices, lo, hi)
    rows = np.arange(len(group)) if rows is None else rows
    if layout == "dense":
        return DenseCells(slice_index, group, groups, slices, lanes, rows, (lo, hi))
    return SparseCells(slice_index, group, groups, slices, lanes, rows)


def pick_layout(
    slice_index: IntArray, groups: int, slices: int, lo: IntArray, hi: IntArray
) -> CellLayout:
    """Dense unless it has many times more cells than the sparse layout has rows and pairs."""
    before = rows_before(slice_index, slices)
    pairs = int(np.minimum(before[hi] - before[lo], groups).sum())
    cells = (slices + len(lo)) * groups
    return "dense" if cells < CELLS_PER_ROW * (len(slice_index) + pairs) else "sparse"
