"""All lanes of all windows at once: what the tests compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tidemill.aggregates.limbs import split_int64
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.state.layouts.bundles import CellLayout, lay_out_cells
from tidemill.state.layouts.lane_values import LaneValues


@dataclass(frozen=True)
class Combined:
    """One row for each window and group with rows in it, ordered by both."""

    window: IntArray
    group: IntArray
    lanes: tuple[tuple[Array, BoolArray], ...]


def combine_windows(
    slice_index: IntArray,
    group: IntArray,
    groups: int,
    slices: int,
    lo: IntArray,
    hi: IntArray,
    lanes: list[LaneValues],
    layout: CellLayout = "auto",
) -> Combined:
    """Blocks read whole, and once more cell by cell: both ways must agree."""
    laid = lay_out_cells(slice_index, group, groups, slices, lo, hi, lanes, layout)
    rows: list[tuple[Any, ...]] = []
    found: list[list[tuple[Array, BoolArray]]] = [[] for _ in lanes]
    for block in laid.blocks(lo, hi):
        shape = block.shape
        here = np.ones(shape, bool) if block.present is None else block.present
        cells = np.flatnonzero(here)
        places = [np.broadcast_to(side, shape).ravel() for side in (block.window, block.group)]
        at_cells = block.at(cells)
        np.testing.assert_array_equal(places[0][cells], at_cells.window)
        np.testing.assert_array_equal(places[1][cells], at_cells.group)
        rows += zip(places[0][cells], places[1][cells], strict=True)
        for number in range(len(lanes)):
            whole, some = block.lane(number), at_cells.lane(number)
            assert isinstance(whole, tuple)
            assert isinstance(some, tuple)
            values, valid = _full(*whole)
            picked, known = _full(*some)
            np.testing.assert_array_equal(valid[cells], known)
            np.testing.assert_array_equal(values[cells], picked)
            wide = lanes[number].values.ndim == 2 and picked.ndim == 1
            found[number].append((split_int64(picked) if wide else picked, known))
    order = sorted(range(len(rows)), key=rows.__getitem__)
    window, group_ = np.array([rows[i] for i in order], dtype=np.int64).reshape(-1, 2).T
    joined = [_joined(lane, parts) for lane, parts in zip(lanes, found, strict=True)]
    return Combined(
        window, group_, tuple((values[order], valid[order]) for values, valid in joined)
    )


def _joined(lane: LaneValues, parts: list[tuple[Array, BoolArray]]) -> tuple[Array, BoolArray]:
    none = lane.values[:0], np.zeros(0, bool)
    values, valid = zip(none, *parts, strict=True)
    return np.concatenate(values), np.concatenate(valid)


def _full(values: Array, valid: BoolArray | None) -> tuple[Array, BoolArray]:
    return values, np.ones(len(values), bool) if valid is None else valid
