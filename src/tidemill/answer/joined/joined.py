"""The cells of sides ⇒ blocks of the join for the evaluator, by the kernel that suits them.

Dense: sides whose groups are keys of the join, which are in most slices. All else is sparse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from tidemill.aggregates.lanes import KernelLane
from tidemill.answer.joined.dense import DenseJoin
from tidemill.answer.joined.inputs import JoinedLanes, SideCells, SideWindows
from tidemill.answer.joined.keyed import DenseKeys, KeyedJoin
from tidemill.answer.joined.rows import RowsChunk
from tidemill.answer.joined.sparse import SparseJoin
from tidemill.arrays import IntArray
from tidemill.plan.window_join import WindowJoin
from tidemill.state.cells import Cells
from tidemill.state.layouts.bundles import Block, CellLayout

# Measured with two sides and four lanes, 1,000 and 100,000 keys, 100 and 1,000 slices: what each
# cell of a matrix of slices by keys takes, each of looks by keys, and each cell that the sparse
# kernel reads for a look.
DENSE_SLICE_NS, DENSE_LOOK_NS, SPARSE_NS = 30, 6, 70


class JoinedChunk(Protocol):
    """The join at some looks. `cells` has the groups, and the dictionaries of lanes."""

    @property
    def cells(self) -> Cells: ...

    def blocks(self, look: IntArray) -> Iterator[Block]:
        """Windows, of which `look` tells where they look, by groups of the cells.

        A window that looks elsewhere has a number below zero.
        """


def joined_chunks(
    join: WindowJoin,
    lanes: JoinedLanes,
    sides: Sequence[SideCells],
    windows: Sequence[SideWindows],
    layout: CellLayout = "auto",
) -> Iterator[JoinedChunk]:
    """The join at all looks; `windows` has by side the window at each of them.

    A look is whole in one chunk, and one that has no rows may be in none.
    """
    keyed = KeyedJoin.of(join, lanes, sides)
    dense = None if layout == "sparse" else _dense(keyed, windows)
    sparse = SparseJoin(keyed, windows)
    if dense is not None and (layout == "dense" or _is_dense(dense.join, sparse)):
        yield dense
    else:
        yield from (RowsChunk(cells, lanes.lanes) for cells in sparse.cells())


def _dense(keyed: KeyedJoin, windows: Sequence[SideWindows]) -> DenseChunk | None:
    """The join for the dense kernel, if it can take it."""
    if not all(isinstance(lane, KernelLane) for lane in keyed.lanes.lanes):
        return None
    keys = keyed.dense_keys()
    return None if not keys else DenseChunk.of(keyed, keys, windows)


def _is_dense(dense: DenseJoin, sparse: SparseJoin) -> bool:
    slices, looks = dense.cells()
    dense_ns = DENSE_SLICE_NS * slices + DENSE_LOOK_NS * looks
    return dense_ns < SPARSE_NS * int(sparse.costs.sum())


@dataclass(frozen=True)
class DenseChunk:
    """All looks, by keys that lie dense."""

    cells: Cells
    join: DenseJoin
    has_groups: bool

    @staticmethod
    def of(keyed: KeyedJoin, keys: DenseKeys, windows: Sequence[SideWindows]) -> DenseChunk:
        cells = _without_rows(keyed, keys.groups)
        return DenseChunk(cells, DenseJoin(keyed, keys, windows), bool(keyed.query_keys))

    def blocks(self, look: IntArray) -> Iterator[Block]:
        yield from self.join.blocks(look, self.has_groups)


def _without_rows(keyed: KeyedJoin, groups: pa.Table) -> Cells:
    """Cells that have the groups, and the dictionaries of lanes."""
    nowhere, lanes = np.zeros(0, np.int64), []
    for place in keyed.lanes.places:
        side = keyed.sides[0 if place is None else place.side]
        number = side.rows_place if place is None else place.place
        lanes.append(side.cells.lanes[number].take(nowhere))
    signatures = np.zeros((1, 0), np.int64)
    return Cells(nowhere, nowhere, nowhere, groups, nowhere, signatures, tuple(lanes))
