"""The dense kernel: sides as matrices of slices by keys, and their join as products of windows.

It is for sides without groups of their own: a group of the query is a key of the join, or all
rows are one group. Lanes are worked out when an expression first reads them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tidemill.aggregates import Encoded
from tidemill.aggregates.algebra import Algebra, at_places
from tidemill.aggregates.lanes import KernelLane
from tidemill.answer.joined.inputs import SideCells, SideWindows
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.state.layouts.lane_values import CombinedValues, LaneValues, PreparedLane


class SideMatrix:
    """The cells of one side by slice and key of the join, made ready for its windows.

    `lo` and `hi` are by look; slices of all readings lie one after the other, those without
    cells left out.
    """

    def __init__(self, side: SideCells, windows: SideWindows, key: IntArray, keys: int) -> None:
        """`key` is by group of the side; of those below zero nothing more is told than that they
        are there."""
        self._side, self._keys, cells = side, keys, side.cells
        place = cells.signature * len(cells.slices) + cells.slice_index
        places = len(cells.signatures) * len(cells.slices)
        before = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=places) > 0)])
        self.slices = int(before[-1])
        self._slice, self._key = before[place], key[cells.group]
        lo = np.searchsorted(cells.slices, windows.starts_us)
        hi = np.maximum(lo, np.searchsorted(cells.slices, windows.ends_us))
        first, is_read = windows.readings * len(cells.slices), windows.readings >= 0
        self.lo: IntArray = before[np.where(is_read, first + lo, 0)]
        self.hi: IntArray = before[np.where(is_read, first + hi, 0)]
        self._lane = lru_cache(maxsize=None)(self._prepared)

    @property
    def rows_place(self) -> int:
        return self._side.rows_place

    def windows(self, number: int, looks: IntArray) -> CombinedValues:
        """A lane in all keys of each look."""
        values, valid = self._lane(number).windows(self.lo[looks], self.hi[looks])
        flat = values.reshape(-1, *values.shape[2:])
        return flat, None if valid is None else valid.ravel()

    def at(self, number: int, looks: IntArray, keys: IntArray) -> CombinedValues:
        """A lane in one key of each look."""
        return self._lane(number).at(self.lo[looks], self.hi[looks], keys)

    @property
    def has_rows(self) -> BoolArray:
        """By look, whether its window has any rows."""
        return np.asarray(self.lo < self.hi)

    def has_rows_of(self, is_meant: BoolArray) -> BoolArray:
        """By look, whether its window has any rows of the groups that are meant."""
        slices = self._slice[is_meant[self._side.cells.group]]
        before = np.concatenate([[0], np.cumsum(np.bincount(slices, minlength=self.slices))])
        return np.asarray(before[self.lo] < before[self.hi])

    def _prepared(self, number: int) -> PreparedLane:
        lane, rows = self._side.lanes[number], self._side.cells.lanes[number]
        assert isinstance(lane, KernelLane)
        assert isinstance(rows, Encoded)
        values = LaneValues(rows.values, lane.algebra, rows.valid)
        return PreparedLane(values, self._laid, (self.lo, self.hi))

    def _laid(self, values: Array, algebra: Algebra) -> Array:
        """Values by row ⇒ (slices, keys, …)."""
        rows = np.flatnonzero(self._key >= 0)
        place, cells = self._slice[rows] * self._keys + self._key[rows], self.slices * self._keys
        laid = at_places(algebra, values, place, cells, rows)
        return laid.reshape(self.slices, self._keys, *values.shape[1:])
