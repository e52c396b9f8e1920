"""Windows over cells: one call, two layouts, and the choice between them.

>>> from tidemill.aggregates.algebra import COUNT
>>> slices, groups = np.array([0, 0, 2]), np.array([0, 1, 1])
>>> lo, hi = np.array([0, 1]), np.array([2, 3])
>>> got = combine_windows(slices, groups, 2, 3, lo, hi, [(np.array([5, 6, 7]), COUNT, None)])
>>> got.window.tolist(), got.group.tolist(), got.lanes[0][0].tolist()
([0, 0, 1], [0, 1, 1], [5, 6, 7])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from tidemill.aggregates.algebra import IntArray
from tidemill.synopsis.dense import Combined, Lane, combine_dense
from tidemill.synopsis.sparse import combine_sparse

Layout = Literal["dense", "sparse", "auto"]

# Measured on two cores, with three lanes, in 129 cases (60 to 2,000 slices, 100 to 100,000
# groups, 0.1 % to all of the cells filled): a dense cell costs 4 to 100 ns, a sparse row or pair
# 70 to 270 ns. The layouts cross where there are 4 to 10 cells to a row or pair, and in
# that range neither takes more than about twice the other's time.
CELLS_PER_ROW = 6


def combine_windows(
    slice_index: IntArray,
    group: IntArray,
    groups: int,
    slices: int,
    lo: IntArray,
    hi: IntArray,
    lanes: Sequence[Lane],
    layout: Layout = "auto",
) -> Combined:
    """What each window `lo[w] <= slice < hi[w]` holds of each group that has a row in it.

    Rows are given in any order, one for each (slice, group) that occurs. A lane of the result
    is not NULL where any row behind it was not NULL. Both layouts give the same answers, floats
    up to the order of addition.
    """
    if layout == "auto":
        layout = pick_layout(slice_index, groups, slices, lo, hi)
    if layout == "dense":
        return combine_dense(slice_index, group, groups, lo, hi, lanes)
    return combine_sparse(slice_index, group, slices, lo, hi, lanes)


def pick_layout(
    slice_index: IntArray, groups: int, slices: int, lo: IntArray, hi: IntArray
) -> Layout:
    """Dense unless it has many times more cells than the sparse layout has rows and pairs."""
    before = np.concatenate([[0], np.cumsum(np.bincount(slice_index, minlength=slices))])
    pairs = int(np.minimum(before[hi] - before[lo], groups).sum())
    cells = (slices + len(lo)) * groups
    return "dense" if cells < CELLS_PER_ROW * (len(slice_index) + pairs) else "sparse"
