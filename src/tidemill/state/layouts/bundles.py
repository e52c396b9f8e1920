"""Readings in bundles: the cells of several laid end to end, and windows of all in one go.

Slices of one reading follow those of another along one axis, so that a window is a run of it
whosever it is, and to the layouts many readings look like one that lasts longer. Each keeps
slices of its own length and numbers its groups by itself.

    reading 0          reading 1                a window of reading 1
    |--|--|--|--|--|   |----|----|----|         is the run 6:8
     0  1  2  3  4      5    6    7
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tidemill.aggregates import Lane
from tidemill.arrays import BoolArray, IntArray
from tidemill.state.cells import Cells
from tidemill.state.layouts.combine import CELLS_PER_ROW, CellLayout, LaidOut, lay_out_cells
from tidemill.state.layouts.dense import MOST_CELLS
from tidemill.state.layouts.lane_values import LaneRows, rows_of
from tidemill.state.sketched.rows import Reader

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
    """Which group of the cells a number stands for, in each window."""

    groups: IntArray
    first: IntArray  # by window

    def __call__(self, window: IntArray, number: IntArray) -> IntArray:
        """What it gives for a number that its reading does not use is some group."""
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
        yield _bundle(lane_rows, members, rows, spans, layout)


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
    """Which readings go together, and how they are laid out."""
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
    lanes: Sequence[LaneRows], cells: Cells, rows: IntArray, spans: Spans, layout: CellLayout
) -> Bundle:
    places = _places(cells)
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
