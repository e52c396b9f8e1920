"""Bundles: the cells of several readings end to end, laid out for windows of all in one go.

Slices of one reading follow those of another along one axis, so that a window is a run of it
whosever it is, and to the two layouts many readings look like one that lasts longer. Each keeps
slices of its own length and numbers its groups by itself.

    reading 0          reading 1                a window of reading 1
    |--|--|--|--|--|   |----|----|----|         is the run 6:8
     0  1  2  3  4      5    6    7

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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from tidemill.aggregates import Lane
from tidemill.arrays import BoolArray, IntArray
from tidemill.state.cells import Cells
from tidemill.state.layouts.cell_runs import AnyRuns
from tidemill.state.layouts.dense import MOST_CELLS, DenseCells
from tidemill.state.layouts.lane_values import CombinedValues, LaneRows, rows_of
from tidemill.state.layouts.sparse import SparseCells, rows_before
from tidemill.state.sketched.rows import Reader

CellLayout = Literal["dense", "sparse", "auto"]

# Measured on two cores, with three lanes, in 129 cases (60 to 2,000 slices, 100 to 100,000
# groups, 0.1 % to all of the cells filled): a dense cell costs 4 to 100 ns, a sparse row or pair
# 70 to 270 ns. The layouts cross where there are 4 to 10 cells to a row or pair, and in
# that range neither takes more than about twice the other's time.
CELLS_PER_ROW = 6


class Block(Protocol):
    """Windows and groups side by side: a matrix of them, or a list of the pairs with rows.

    `window` and `group` number them and broadcast to `shape`; lanes come flattened. Where only
    a few cells are needed, a block of those alone is asked for its lanes.
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

    def at(self, cells: IntArray) -> Block:
        """The block of some cells with rows, by their places in the flattened one."""


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


# Cells left empty for the sake of a common matrix, in all: a lane of them takes about as long
# as asking once more. Readings with half as many groups as the widest are taken anyhow.
MOST_EMPTY = 2**17
# Pairs of reading and group that may be numbered: 256 MiB. Beyond it readings stay alone.
MOST_NUMBERED = 2**25


@dataclass(frozen=True)
class Spans:
    """Windows, each of a reading; slice s of reading r is at place `r * slices + s`."""

    reading: IntArray
    lo: IntArray
    hi: IntArray

    @staticmethod
    def of(cells: Cells, reading: IntArray, starts: IntArray, ends: IntArray) -> Spans:
        """A window without a reading here, told by -1, is empty."""
        first = reading * len(cells.slices)
        lo, hi = (first + np.searchsorted(cells.slices, bound) for bound in (starts, ends))
        return Spans(reading, np.where(reading < 0, 0, lo), np.where(reading < 0, 0, hi))


@dataclass(frozen=True)
class Naming:
    """The group of the cells that a number stands for, in each window."""

    groups: IntArray
    first: IntArray  # by window

    def __call__(self, window: IntArray, number: IntArray) -> IntArray:
        """The groups of the numbers; a number that its reading does not use gives any group."""
        found: IntArray = self.groups[self.first[window] + number]
        return found


@dataclass(frozen=True)
class Bundle:
    """Cells of some readings, ready for windows; those of other readings are empty in it."""

    laid: LaidOut
    before: IntArray  # places on the axis before each (reading, slice)
    groups: IntArray  # reading after reading, the groups of each
    first: IntArray  # by reading, where its groups begin

    def bounds(self, spans: Spans) -> tuple[IntArray, IntArray]:
        return self.before[spans.lo], self.before[spans.hi]

    def naming(self, spans: Spans) -> Naming:
        return Naming(self.groups, self.first[spans.reading])


def bundles(
    lanes: tuple[Lane, ...], cells: Cells, spans: Spans, sketches: Mapping[Lane, Reader]
) -> Iterator[Bundle]:
    """Cells whose signatures are numbers of readings, made ready for the windows, in turn.

    Of lanes that are sketches the cells have places in what their readers hold.
    """
    start_us = cells.slices[cells.slice_index]
    cells_of_lanes = zip(lanes, cells.lanes, strict=True)
    lane_rows = [rows_of(lane, mine, start_us, sketches) for lane, mine in cells_of_lanes]
    reached, places = _reached(cells, spans), _places(cells)
    for readings, layout in _arranged(cells, spans, reached, places):
        is_read = np.zeros_like(reached)
        is_read[readings] = reached[readings]
        rows = np.flatnonzero(is_read.ravel()[places])
        # The lanes stay where they are: of each, only what is asked for will be looked at.
        members = replace(cells, lanes=()).at(rows)
        yield _bundle(lane_rows, members, rows, places[rows], spans, layout)


def _reached(cells: Cells, spans: Spans) -> BoolArray:
    """By reading and slice, whether it lies between the first and the last of any window."""
    readings, slices = len(cells.signatures), len(cells.slices)
    is_read = spans.lo < spans.hi
    reading = spans.reading[is_read]
    first, last = np.full(readings, slices), np.zeros(readings, dtype=np.int64)
    np.minimum.at(first, reading, spans.lo[is_read] - reading * slices)
    np.maximum.at(last, reading, spans.hi[is_read] - reading * slices)
    place = np.arange(slices)
    return (place >= first[:, None]) & (place < last[:, None])


def _arranged(
    cells: Cells, spans: Spans, reached: BoolArray, places: IntArray
) -> list[tuple[list[int], CellLayout]]:
    """The readings that go together, and their layout."""
    readings = len(cells.signatures)
    is_asked = reached.any(axis=1)
    if readings == 1 or readings * cells.group_count > MOST_NUMBERED:
        return [([number], "auto") for number in np.flatnonzero(is_asked).tolist()]
    work, height = _sizes(cells, spans, reached, places)
    width = np.count_nonzero(_is_used(cells).reshape(readings, -1), axis=1)
    fills = height * width < CELLS_PER_ROW * work
    dense = sorted(np.flatnonzero(is_asked & fills).tolist(), key=lambda number: -width[number])
    runs: list[tuple[list[int], CellLayout]] = [
        (run, "dense") for run in _runs(dense, height, width)
    ]
    sparse = np.flatnonzero(is_asked & ~fills).tolist()
    return [*runs, (sparse, "sparse")] if sparse else runs


def _sizes(
    cells: Cells, spans: Spans, reached: BoolArray, places: IntArray
) -> tuple[IntArray, IntArray]:
    """By reading: rows and pairs of window and group; slices and windows."""
    readings, slices = reached.shape
    rows = np.bincount(places, minlength=readings * slices) * reached.ravel()
    before = np.concatenate([[0], np.cumsum(rows)])
    pairs = np.minimum(before[spans.hi] - before[spans.lo], cells.group_count)
    is_full = pairs > 0
    reading = spans.reading[is_full]
    work = rows.reshape(readings, slices).sum(axis=1)
    work += np.bincount(reading, pairs[is_full], minlength=readings).astype(np.int64)
    height = np.count_nonzero(rows.reshape(readings, slices), axis=1)
    return work, height + np.bincount(reading, minlength=readings)


def _runs(readings: list[int], height: IntArray, width: IntArray) -> Iterator[list[int]]:
    """Readings, the widest first, in matrices that are neither too large nor too empty."""
    run, cells, empty = list[int](), 0, 0
    for reading in readings:
        widest = int(width[run[0]]) if run else int(width[reading])
        more, bare = int(height[reading]) * widest, int(height[reading] * (widest - width[reading]))
        is_near = 2 * width[reading] >= widest or empty + bare <= MOST_EMPTY
        if run and (cells + more > MOST_CELLS or not is_near):
            yield run
            run, cells, empty = [], 0, 0
            more, bare = int(height[reading] * width[reading]), 0
        run, cells, empty = [*run, reading], cells + more, empty + bare
    if run:
        yield run


def _bundle(
    lanes: Sequence[LaneRows],
    cells: Cells,
    rows: IntArray,
    places: IntArray,
    spans: Spans,
    layout: CellLayout,
) -> Bundle:
    is_met = np.bincount(places, minlength=len(cells.signatures) * len(cells.slices)) > 0
    before = np.concatenate([[0], np.cumsum(is_met)])
    group, groups, first = _renumbered(cells)
    width = int(np.diff(first).max())
    windows = before[spans.lo], before[spans.hi]
    axis = before[places], group, width, int(before[-1])
    laid = lay_out_cells(*axis, *windows, lanes, layout, rows)
    # Beyond the last reading's groups there is room for the numbers it does not use.
    return Bundle(laid, before, np.append(groups, np.zeros(width, np.int64)), first[:-1])


def _renumbered(cells: Cells) -> tuple[IntArray, IntArray, IntArray]:
    """Numbers of groups without gaps in each reading, what they stand for, and its bounds."""
    readings, groups = len(cells.signatures), cells.group_count
    is_used = _is_used(cells)
    if readings == 1 and is_used.all():
        return cells.group, np.arange(groups), np.array([0, groups])
    used = np.flatnonzero(is_used)
    first = np.searchsorted(used, np.arange(readings + 1) * groups)
    number = np.cumsum(is_used) - 1
    group = number[cells.signature * groups + cells.group] - first[cells.signature]
    return group, used % max(1, groups), first


def _is_used(cells: Cells) -> BoolArray:
    is_used = np.zeros(len(cells.signatures) * cells.group_count, dtype=np.bool_)
    is_used[cells.signature * cells.group_count + cells.group] = True
    return is_used


def _places(cells: Cells) -> IntArray:
    return cells.signature * len(cells.slices) + cells.slice_index
