"""The dense kernel: sides as matrices of slices by keys, and their join as products of windows.

It is for sides without groups of their own: a group of the query is a key of the join, or all
rows are one group. Lanes are worked out when an expression first reads them.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tidemill.aggregates import Encoded
from tidemill.aggregates.algebra import Algebra, at_places
from tidemill.aggregates.lanes import KernelLane
from tidemill.answer.joined.inputs import SideCells, SideWindows
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.state.layouts.lane_values import CombinedValues, LaneValues, PreparedLane


class SideAxis:
    """The slices of one side, those of each reading after those of another, and its windows there.

    Slices without cells are left out. `lo` and `hi` are by look.
    """

    def __init__(self, side: SideCells, windows: SideWindows, key: IntArray, keys: int) -> None:
        """`key` is by group of the side; of those below zero nothing more is told than that they
        are there."""
        self.side, self.keys, cells = side, keys, side.cells
        place = cells.signature * len(cells.slices) + cells.slice_index
        places = len(cells.signatures) * len(cells.slices)
        before = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=places) > 0)])
        self.slices = int(before[-1])
        self.slice, self.key = before[place], key[cells.group]
        lo = np.searchsorted(cells.slices, windows.starts_us)
        hi = np.maximum(lo, np.searchsorted(cells.slices, windows.ends_us))
        first, is_read = windows.readings * len(cells.slices), windows.readings >= 0
        self.lo: IntArray = before[np.where(is_read, first + lo, 0)]
        self.hi: IntArray = before[np.where(is_read, first + hi, 0)]

    @property
    def has_rows(self) -> BoolArray:
        """By look, whether its window has any rows."""
        return np.asarray(self.lo < self.hi)

    def has_rows_of(self, is_meant: BoolArray) -> BoolArray:
        """By look, whether its window has any rows of the groups that are meant."""
        slices = self.slice[is_meant[self.side.cells.group]]
        before = np.concatenate([[0], np.cumsum(np.bincount(slices, minlength=self.slices))])
        return np.asarray(before[self.lo] < before[self.hi])


class SideMatrix:
    """Some slices of a side by key of the join, for the windows that lie there.

    Those without slices may be asked about as well.
    """

    def __init__(self, axis: SideAxis, first: int, last: int) -> None:
        self._axis, self._first, self._slices = axis, first, last - first
        self._lanes: dict[int, PreparedLane] = {}

    @property
    def rows_place(self) -> int:
        return self._axis.side.rows_place

    def windows(self, number: int, looks: IntArray) -> CombinedValues:
        """A lane in all keys of each look."""
        values, valid = self._lane(number).windows(*self._bounds(looks))
        flat = values.reshape(-1, *values.shape[2:])
        return flat, None if valid is None else valid.ravel()

    def at(self, number: int, looks: IntArray, keys: IntArray) -> CombinedValues:
        """A lane in one key of each look."""
        return self._lane(number).at(*self._bounds(looks), keys)

    def _bounds(self, looks: IntArray) -> tuple[IntArray, IntArray]:
        lo, hi = self._axis.lo[looks] - self._first, self._axis.hi[looks] - self._first
        is_empty = lo >= hi
        return np.where(is_empty, 0, lo), np.where(is_empty, 0, hi)

    def _lane(self, number: int) -> PreparedLane:
        if number not in self._lanes:
            self._lanes[number] = self._prepared(number)
        return self._lanes[number]

    def _prepared(self, number: int) -> PreparedLane:
        side = self._axis.side
        lane, rows = side.lanes[number], side.cells.lanes[number]
        assert isinstance(lane, KernelLane)
        assert isinstance(rows, Encoded)
        values = LaneValues(rows.values, lane.algebra, rows.valid)
        return PreparedLane(values, self._laid, self._windows)

    @cached_property
    def _windows(self) -> tuple[IntArray, IntArray]:
        """The windows that lie here."""
        lo, hi, last = self._axis.lo, self._axis.hi, self._first + self._slices
        inside = np.flatnonzero((lo >= self._first) & (hi <= last) & (lo < hi))
        return self._bounds(inside)

    @cached_property
    def _rows(self) -> IntArray:
        slices = self._axis.slice - self._first
        inside = (slices >= 0) & (slices < self._slices)
        return np.flatnonzero(inside & (self._axis.key >= 0))

    def _laid(self, values: Array, algebra: Algebra) -> Array:
        """Values by row ⇒ (slices, keys, …)."""
        rows, keys = self._rows, self._axis.keys
        place = (self._axis.slice[rows] - self._first) * keys + self._axis.key[rows]
        laid = at_places(algebra, values, place, self._slices * keys, rows)
        return laid.reshape(self._slices, keys, *values.shape[1:])
