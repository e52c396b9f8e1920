"""A side's cells combined for each of its windows: rows of a window, a group, and lanes.

Windows of equal bounds are one, however many looks are at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tidemill.aggregates import Encoded, LaneArray
from tidemill.aggregates.numbering import Digit, number_rows
from tidemill.answer.joined.inputs import SideCells, SideWindows
from tidemill.arrays import IntArray


@dataclass(frozen=True)
class SideRows:
    """A row for each window and group that has rows, with its lanes."""

    window: IntArray
    group: IntArray
    lanes: tuple[LaneArray, ...]
    rows_place: int

    def __len__(self) -> int:
        return len(self.window)

    @property
    def counts(self) -> IntArray:
        """How many rows of the stream are behind each."""
        lane = self.lanes[self.rows_place]
        assert isinstance(lane, Encoded)
        counts: IntArray = lane.values
        return counts

    def take(self, rows: IntArray) -> SideRows:
        lanes = tuple(lane.take(rows) for lane in self.lanes)
        return SideRows(self.window[rows], self.group[rows], lanes, self.rows_place)


class Side:
    """The cells of a side by reading and slice, and its windows as runs of them.

    `window` is by look the number of its window; the last number is that of all empty ones.
    """

    def __init__(self, side: SideCells, windows: SideWindows) -> None:
        self.cells, self._lanes, self._rows_place = side.cells, side.lanes, side.rows_place
        first, last = self._bounds(windows)
        bounds, numbers = np.unique(first * (len(side.cells) + 1) + last, return_inverse=True)
        first, last = np.divmod(bounds, len(side.cells) + 1)
        is_full = first < last
        # Of windows without cells no more is told than that.
        number = np.where(is_full, np.cumsum(is_full) - 1, np.count_nonzero(is_full))
        self.window: IntArray = number[numbers.ravel()]
        self._first, self._last = first[is_full], last[is_full]

    @property
    def windows(self) -> int:
        return len(self._first)

    @cached_property
    def sizes(self) -> IntArray:
        """By window, the number of its cells; that of empty ones at the end."""
        return np.append(self._last - self._first, 0)

    def rows(self, windows: IntArray) -> SideRows:
        """The rows of some windows."""
        sizes = self.sizes[windows]
        cell = self._order[spread(self._first[windows], sizes)]
        window = np.repeat(windows, sizes)
        groups = Digit(self.cells.group[cell], max(1, self.cells.group_count))
        numbered = number_rows([groups, Digit(window, max(1, self.windows))], len(cell))
        lanes = tuple(
            lane.combined(lane_rows, numbered.ids, numbered.count, cell)
            for lane, lane_rows in zip(self._lanes, self.cells.lanes, strict=True)
        )
        some_cell = numbered.rows
        return SideRows(window[some_cell], groups.codes[some_cell], lanes, self._rows_place)

    def _bounds(self, windows: SideWindows) -> tuple[IntArray, IntArray]:
        """By look, its run of cells in their order."""
        slices = self.cells.slices
        lo = np.searchsorted(slices, windows.starts_us)
        hi = np.searchsorted(slices, windows.ends_us)
        is_read = (windows.readings >= 0) & (lo < hi)
        base = windows.readings * len(slices)
        return (
            self._before[np.where(is_read, base + lo, 0)],
            self._before[np.where(is_read, base + hi, 0)],
        )

    @cached_property
    def _place(self) -> IntArray:
        return self.cells.signature * len(self.cells.slices) + self.cells.slice_index

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self._place, kind="stable")

    @cached_property
    def _before(self) -> IntArray:
        """The cells before each reading and slice, and before the end."""
        places = len(self.cells.signatures) * len(self.cells.slices)
        return np.concatenate([[0], np.cumsum(np.bincount(self._place, minlength=places))])


def spread(first: IntArray, sizes: IntArray) -> IntArray:
    """Runs of so many numbers, each from its first on, one after the other.

    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    skipped = np.cumsum(sizes) - sizes
    return np.repeat(first - skipped, sizes) + np.arange(int(sizes.sum()))
