"""The cells of sides ⇒ blocks of the join for the evaluator, by the kernel that suits them.

Dense: sides without groups of their own, whose keys are in most slices. All else is sparse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.aggregates.lanes import KernelLane
from tidemill.answer.joined.dense import DenseJoin
from tidemill.answer.joined.inputs import JoinedLanes, SideCells, SideWindows
from tidemill.answer.joined.keyed import DenseKeys, KeyedJoin
from tidemill.answer.joined.rows import RowsBlock
from tidemill.answer.joined.sparse import SparseJoin
from tidemill.plan.window_join import WindowJoin
from tidemill.state.cells import Cells
from tidemill.state.layouts.bundles import CELLS_PER_ROW, Block, CellLayout, Naming


@dataclass(frozen=True)
class JoinedBlock:
    """Looks and groups with their lanes. The windows of the block are numbers of looks, its
    groups are rows of those of the cells, which say no more than names and dictionaries."""

    cells: Cells
    block: Block

    def naming(self, looks: int) -> Naming:
        return Naming(np.arange(len(self.cells.groups) + 1), np.zeros(looks, np.int64))


def joined_cells(
    join: WindowJoin,
    lanes: JoinedLanes,
    sides: Sequence[SideCells],
    windows: Sequence[SideWindows],
) -> Iterator[Cells]:
    """Cells whose slices are the numbers of looks; those of each chunk by themselves.

    `windows` has by side the window at each look. A look without rows has no cells.
    """
    yield from SparseJoin(KeyedJoin.of(join, lanes, sides), windows).cells()


def joined_blocks(
    join: WindowJoin,
    lanes: JoinedLanes,
    sides: Sequence[SideCells],
    windows: Sequence[SideWindows],
    layout: CellLayout = "auto",
) -> Iterator[JoinedBlock]:
    """The same as blocks: looks ascend, and each that has rows is whole in one block."""
    keyed = KeyedJoin.of(join, lanes, sides)
    dense = None if layout == "sparse" else _dense(keyed, windows)
    sparse = SparseJoin(keyed, windows)
    if dense is not None and (layout == "dense" or _is_dense(dense, sparse)):
        yield from _dense_blocks(keyed, *dense)
        return
    for cells in sparse.cells():
        yield JoinedBlock(cells, RowsBlock.of(cells, lanes.lanes))


def _dense(keyed: KeyedJoin, windows: Sequence[SideWindows]) -> tuple[DenseKeys, DenseJoin] | None:
    """The join for the dense kernel, if it can take it."""
    if not all(isinstance(lane, KernelLane) for lane in keyed.lanes.lanes):
        return None
    keys = keyed.dense_keys()
    return None if not keys else (keys, DenseJoin(keyed, keys, windows))


def _is_dense(dense: tuple[DenseKeys, DenseJoin], sparse: SparseJoin) -> bool:
    _, join = dense
    return join.fits and join.cells() < CELLS_PER_ROW * int(sparse.costs.sum())


def _dense_blocks(keyed: KeyedJoin, keys: DenseKeys, dense: DenseJoin) -> Iterator[JoinedBlock]:
    cells = _without_rows(keyed, keys.groups)
    for block in dense.blocks(has_groups=bool(keyed.query_keys)):
        yield JoinedBlock(cells, block)


def _without_rows(keyed: KeyedJoin, groups: pa.Table) -> Cells:
    """Cells that have the groups, and the dictionaries of lanes."""
    nowhere, lanes = np.zeros(0, np.int64), []
    for place in keyed.lanes.places:
        side = 0 if place is None else place.side
        side_cells = keyed.sides[side]
        number = side_cells.rows_place if place is None else place.place
        lanes.append(side_cells.cells.lanes[number].take(nowhere))
    signatures = np.zeros((1, 0), np.int64)
    return Cells(nowhere, nowhere, nowhere, groups, nowhere, signatures, tuple(lanes))
