"""Readings in bundles: the cells of several laid end to end, and windows of all in one go.

Slices of one reading follow those of another along one axis, so that a window is a run of it
whosever it is, and to the layouts many readings look like one that lasts longer. Each keeps
slices of its own length; what they share is the numbering of groups.

    reading 0          reading 1                a window of reading 1
    |--|--|--|--|--|   |----|----|----|         is the run 6:8
     0  1  2  3  4      5    6    7
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.synopsis.cells import Cells, renumbered
from tidemill.synopsis.combine import CELLS_PER_ROW, LaidOut, lay_out
from tidemill.synopsis.dense import MOST_CELLS
from tidemill.synopsis.lanes import Lane
from tidemill.synopsis.model import Synopsis

IntArray = NDArray[np.int64]

# A reading with more rows and pairs, and a matrix too empty beside others, is laid out alone:
# its arithmetic outweighs the millisecond or two that it takes to ask once more.
LEAST_ALONE = 2**15


@dataclass(frozen=True)
class Spans:
    """Windows as bounds in (reading, slice) places: slice s of reading r is `r * slices + s`."""

    lo: IntArray
    hi: IntArray

    @staticmethod
    def of(cells: Cells, reading: IntArray, starts: IntArray, ends: IntArray) -> Spans:
        """A window without a reading, told by -1, is empty."""
        first = reading * len(cells.slices)
        lo, hi = (first + np.searchsorted(cells.slices, bound) for bound in (starts, ends))
        return Spans(np.where(reading < 0, 0, lo), np.where(reading < 0, 0, hi))


@dataclass(frozen=True)
class Bundle:
    """Cells of some readings, ready for windows; those of other readings are empty in it."""

    groups: pa.Table
    laid: LaidOut
    before: IntArray  # places on the axis before each (reading, slice)

    def bounds(self, spans: Spans) -> tuple[IntArray, IntArray]:
        return self.before[spans.lo], self.before[spans.hi]


def bundles(synopsis: Synopsis, cells: Cells, spans: Spans) -> Iterator[Bundle]:
    """Cells whose signatures are numbers of readings, made ready for the windows, in turn."""
    numbers = bundle_numbers(cells, spans)
    for number in range(int(numbers.max()) + 1):
        mine = numbers == number
        yield _bundle(synopsis, cells if mine.all() else _some(cells, mine), spans)


def bundle_numbers(cells: Cells, spans: Spans) -> IntArray:
    """The bundle of each reading.

    Those that fill a matrix over all groups go together as far as one matrix may grow; so do
    the small ones of the others.
    """
    readings, slices = len(cells.signatures), len(cells.slices)
    if readings == 1:
        return np.zeros(1, dtype=np.int64)
    rows = np.bincount(_places(cells), minlength=readings * slices)
    before = np.concatenate([[0], np.cumsum(rows)])
    wanted = spans.lo < spans.hi
    lo, hi = spans.lo[wanted], spans.hi[wanted]
    pairs = np.minimum(before[hi] - before[lo], cells.group_count)
    work = rows.reshape(readings, slices).sum(axis=1)
    work += np.bincount(lo // slices, pairs, minlength=readings).astype(np.int64)
    height = np.count_nonzero(rows.reshape(readings, slices), axis=1)
    windows = np.bincount(lo // slices, minlength=readings)
    fills = (height + windows) * cells.group_count < CELLS_PER_ROW * work
    bulk = np.cumsum(np.where(fills, height * cells.group_count, 0)) // MOST_CELLS
    alone = ~fills & (work > LEAST_ALONE)
    kind = np.where(fills, bulk, -1)
    kind[alone] = -2 - np.arange(np.count_nonzero(alone))
    return np.unique(kind, return_inverse=True)[1]


def _some(cells: Cells, readings: NDArray[np.bool_]) -> Cells:
    kept = cells.where(readings[cells.signature])
    group, numbers = renumbered(kept.group, cells.group_count)
    groups = cells.groups
    if groups.column_names:
        groups = groups.take(pa.array(numbers))
    return Cells(
        kept.slices,
        kept.slice_index,
        group,
        groups,
        kept.signature,
        kept.signatures,
        kept.lanes,
    )


def _bundle(synopsis: Synopsis, cells: Cells, spans: Spans) -> Bundle:
    places = _places(cells)
    is_used = np.bincount(places, minlength=len(cells.signatures) * len(cells.slices)) > 0
    before = np.concatenate([[0], np.cumsum(is_used)])
    lanes = [
        Lane(encoded.values, lane.algebra, encoded.valid)
        for lane, encoded in zip(synopsis.lanes, cells.lanes, strict=True)
    ]
    windows = before[spans.lo], before[spans.hi]
    at, groups = before[places], cells.group_count
    laid = lay_out(at, cells.group, groups, int(before[-1]), *windows, lanes)
    return Bundle(cells.groups, laid, before)


def _places(cells: Cells) -> IntArray:
    return cells.signature * len(cells.slices) + cells.slice_index
