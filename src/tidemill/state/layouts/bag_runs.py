"""Bags of windows: which cells each window has of a group, and what their values come to.

Nothing is added up before it is asked for, and then only what the question needs.

>>> from tidemill.aggregates.bags import from_rows
>>> bags = from_rows(pa.array([5, 7, 5, 9]), np.ones((1, 4), np.int64))
>>> runs = Runs(SortedBags(bags), np.array([0, 1, 2]), np.array([3, 4, 2]))
>>> runs.distinct().tolist()
[2, 3, 0]
>>> runs.percentile(0.5, np.array([5.0, 7.0, 9.0]))[0].tolist()
[5.0, 7.0, 0.0]
>>> picked = runs.pick(1, by_weight=True)
>>> picked.sizes.tolist(), picked.codes.tolist(), picked.weights.tolist()
([1, 1, 0], [0, 0], [[2, 1]])
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.aggregates.bags import Bags
from tidemill.aggregates.loops.bags import sort_by
from tidemill.aggregates.lowering import FrequentValues, Picked
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.state.loops.bags import count_distinct
from tidemill.state.loops.frequent import part, together
from tidemill.state.loops.picks import pick, to_and_fro
from tidemill.state.loops.ranks import at_fraction


class SortedBags:
    """The bags of cells that lie sorted by group and slice."""

    def __init__(self, bags: Bags) -> None:
        self.bags = bags

    @cached_property
    def before(self) -> IntArray:
        """Entries before each cell."""
        return totals_before(self.bags.sizes)

    @cached_property
    def counted(self) -> IntArray:
        """The weight before each entry, for counts alone."""
        return totals_before(self.bags.weights[0])

    @cached_property
    def weight(self) -> IntArray:
        """The weight before each cell, for counts alone."""
        own = self.counted[self.bags.end] - self.counted[self.bags.begin]
        return totals_before(own)

    @cached_property
    def least(self) -> IntArray:
        """The least code of each cell, and after the last; above all codes where there is none."""
        codes = self.bags.extreme_codes(is_last=False)
        none = len(self.bags.dictionary)
        return np.append(np.where(codes < 0, none, codes), none)

    @cached_property
    def greatest(self) -> IntArray:
        """The greatest code of each cell, and after the last; -1 where there is none."""
        return np.append(self.bags.extreme_codes(is_last=True), -1)


@dataclass(frozen=True)
class Runs:
    """For each cell of a block, the run `first:last` of cells behind it.

    `window_us` is where the window of each begins, and `range_us` how long it is, for those that
    are asked about parts of it.
    """

    cells: SortedBags
    first: IntArray
    last: IntArray
    window_us: IntArray | None = None
    range_us: IntArray | None = None

    @property
    def dictionary(self) -> pa.Array:
        return self.cells.bags.dictionary

    def __len__(self) -> int:
        return len(self.first)

    def distinct(self) -> IntArray:
        """The number of different values."""
        limit = np.full(len(self), self._size)
        found: IntArray = count_distinct(*self._requests, limit, *self._runs, self._size)
        return found

    def total(self) -> IntArray:
        """The number of values."""
        weight = self.cells.weight
        found: IntArray = weight[self.last] - weight[self.first]
        return found

    def extreme_codes(self, is_last: bool) -> IntArray:
        """The code of the least or of the greatest value; -1 where there is none."""
        bounds = np.stack([self.first, self.last], axis=1).ravel()
        if is_last:
            codes = np.maximum.reduceat(self.cells.greatest, bounds)[::2]
        else:
            codes = np.minimum.reduceat(self.cells.least, bounds)[::2]
        extremes: IntArray = np.where((self.first < self.last) & (codes < self._size), codes, -1)
        return extremes

    def percentile(self, fraction: float, numbers: Array) -> tuple[Array, BoolArray]:
        """The value a fraction of the way through, and whether there is any.

        `numbers` are the values of the dictionary. Between two of them is interpolated as
        Spark does, to the last bit.
        """
        lower, upper = (np.zeros(len(self), np.int64) for _ in range(2))
        position = np.full(len(self), np.nan)
        counts, requests = self.cells.bags.weights[0], self._requests
        at_fraction(
            *requests, self.cells.before, *self._runs, counts, fraction, lower, upper, position
        )
        is_known = ~np.isnan(position)
        if not is_known.any():
            return np.zeros(len(self)), is_known
        with np.errstate(invalid="ignore", over="ignore"):
            low, high = numbers[lower], numbers[upper]
            share = position - np.floor(position)
            between = low + (high - low) * share
        return np.where(
            is_known, np.where((share == 0) | (lower == upper), low, between), 0.0
        ), is_known

    def pick(self, most: int, by_weight: bool) -> Picked:
        """The heaviest values, or the least."""
        before, weights = self.cells.before, self.cells.bags.weights
        entries = before[self.last] - before[self.first]
        sizes = np.minimum(np.minimum(entries, most), self._size)
        room = np.concatenate([[0], np.cumsum(sizes)])
        codes = np.zeros(int(room[-1]), np.int32)
        weighing = np.zeros((len(weights), len(codes)), weights.dtype)
        order, first, last = self._requests
        by_end, _ = sort_by(last[order], len(self.cells.bags) + 1)
        order = order[by_end]
        by_begin, _ = sort_by(first[order], len(self.cells.bags) + 1)
        order = order[by_begin]
        to_and_fro(order, first)
        begin, end, cell_codes = self._runs
        counts = pick(
            order,
            first,
            last,
            before,
            begin,
            end,
            cell_codes,
            weights,
            self._size,
            most,
            by_weight,
            weights.dtype.kind == "i",
            room,
            codes,
            weighing,
        )
        places = np.repeat(room[:-1] - (np.cumsum(counts) - counts), counts) + np.arange(
            counts.sum()
        )
        return Picked(counts, codes[places], weighing[:, places])

    def frequent(self, most: int, length_us: int) -> FrequentValues:
        """The values that are surely there more than `delta` times, the most frequent first.

        Of each sub-window the `most` heaviest values are listed, and `delta` is the sum of
        what the last of each list weighs: no value that a list leaves out weighs more there.
        """
        start_us = self.cells.bags.start_us
        assert start_us is not None
        assert self.window_us is not None
        assert self.range_us is not None
        windows = self.window_us, self.range_us
        begin, first, last = part(self.first, self.last, start_us, *windows, length_us)
        # Windows that overlap have sub-windows in common, and each is listed once.
        bounds, lists = np.unique(np.stack([first, last]), axis=1, return_inverse=True)
        picked = Runs(self.cells, *bounds).pick(most, by_weight=True)
        lists = lists.ravel()
        room = np.concatenate([[0], np.cumsum(picked.sizes[lists])])[begin]
        delta = np.zeros(len(self), np.int64)
        codes, low, high = (np.zeros(int(room[-1]), np.int64) for _ in range(3))
        entries = picked.offsets, picked.codes, picked.weights[0]
        into = room, delta, codes, low, high
        sizes = together(begin, lists, *entries, most, self._size, *into)
        places = np.repeat(room[:-1] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        owner = np.repeat(np.arange(len(self)), sizes)
        order = places[np.lexsort((codes[places], -low[places], owner))]
        return FrequentValues(delta, sizes, codes[order], low[order], high[order])

    @property
    def _size(self) -> int:
        return len(self.dictionary)

    @property
    def _runs(self) -> tuple[IntArray, IntArray, NDArray[np.int32]]:
        bags = self.cells.bags
        return bags.begin, bags.end, bags.codes

    @cached_property
    def _requests(self) -> tuple[IntArray, IntArray, IntArray]:
        wanted = np.flatnonzero(self.first < self.last)
        return in_order(wanted, self.first, len(self.cells.bags)), self.first, self.last


def in_order(wanted: IntArray, first: IntArray, cells: int) -> IntArray:
    """Some runs, in the order in which they begin."""
    order, _ = sort_by(first[wanted], cells + 1)
    return wanted[order]


def totals_before(values: IntArray) -> IntArray:
    """Running totals: what all cells before each have, and all there are; of columns, in each.

    >>> totals_before(np.array([3, 4])).tolist()
    [0, 3, 7]
    """
    totals = np.zeros((len(values) + 1, *values.shape[1:]), np.int64)
    np.cumsum(values, axis=0, out=totals[1:])
    return totals


def totals_within(totals: IntArray, first: IntArray, last: IntArray) -> IntArray:
    """The total over the cells of each run, as a difference of running totals."""
    sums: IntArray = totals[last] - totals[first]
    return sums
