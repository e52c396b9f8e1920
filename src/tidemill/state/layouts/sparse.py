"""The sparse layout, for many groups each in few slices.

LaneRows lie sorted by group, then slice. What a window holds of a group is then a run of rows, so
the kernels apply as they are, to one column of rows, and no window-by-group matrix is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tidemill.aggregates.algebra import Algebra
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.state.layouts.cell_runs import AnyRuns, RunColumn
from tidemill.state.layouts.lane_values import CombinedValues, LaneRows, LaneValues, PreparedLane

# Pairs of window and group held at a time, at least one window's.
MOST_PAIRS = 2**21


@dataclass(frozen=True)
class SparseBlock:
    """Pairs of a window and a group with rows in it, ordered by both."""

    window: IntArray
    group: IntArray
    first: IntArray
    last: IntArray
    lanes: Sequence[PreparedLane | RunColumn]

    @property
    def shape(self) -> tuple[int]:
        return (len(self.window),)

    @property
    def present(self) -> BoolArray | None:
        return None

    def lane(self, number: int) -> CombinedValues | AnyRuns:
        return self.lanes[number].windows(self.first, self.last)

    def at(self, cells: IntArray) -> SparseBlock:
        first, last = self.first[cells], self.last[cells]
        return SparseBlock(self.window[cells], self.group[cells], first, last, self.lanes)


class SparseCells:
    """Cells sorted by group and slice, for the windows `lo:hi` of slices."""

    def __init__(
        self,
        slice_index: IntArray,
        group: IntArray,
        groups: int,
        slices: int,
        lanes: Sequence[LaneRows],
        rows: IntArray,
    ) -> None:
        key = group.astype(np.int64) * slices + slice_index
        order = np.argsort(key, kind="stable")
        self._key, self._slices, self._groups = key[order], slices, groups
        self._before = rows_before(slice_index, slices)
        self._lanes = [lane.take(rows[order]) for lane in lanes]
        self._prepared: list[PreparedLane | RunColumn] = []

    def blocks(self, lo: IntArray, hi: IntArray) -> Iterator[SparseBlock]:
        """Every window that is not empty, in runs of about `MOST_PAIRS` pairs at most."""
        full = np.nonzero(lo < hi)[0]
        pairs = np.minimum(self._before[hi[full]] - self._before[lo[full]], self._groups)
        run = np.cumsum(pairs) // MOST_PAIRS
        for number in range(int(run[-1]) + 1 if run.size else 0):
            windows = full[np.searchsorted(run, number) : np.searchsorted(run, number + 1)]
            if windows.size:
                yield self._block(windows, lo[windows], hi[windows])

    def _block(self, numbers: IntArray, lo: IntArray, hi: IntArray) -> SparseBlock:
        window, first, last = _pairs(self._key, self._slices, lo, hi)
        # Within a window the pairs are already in order of group.
        order = np.argsort(_narrow(window, len(lo)), kind="stable")
        window, first, last = numbers[window[order]], first[order], last[order]
        if not self._prepared:
            like = first, last
            self._prepared = [
                PreparedLane(lane, _column, like)
                if isinstance(lane, LaneValues)
                else RunColumn(lane)
                for lane in self._lanes
            ]
        return SparseBlock(window, self._key[first] // self._slices, first, last, self._prepared)


def rows_before(slice_index: IntArray, slices: int) -> IntArray:
    """The number of rows in the slices before each, and before the end."""
    return np.concatenate([[0], np.cumsum(np.bincount(slice_index, minlength=slices))])


def _column(values: Array, _algebra: Algebra) -> Array:
    return values


def _pairs(
    key: IntArray, slices: int, lo: IntArray, hi: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Each (window, group) with rows, as the window and the bounds of its run of rows."""
    runs = [_chain_pairs(key, slices, chain, lo[chain], hi[chain]) for chain in _chains(lo, hi)]
    none = np.empty(0, np.int64)
    window, first, last = (
        np.concatenate([none, *(run[part] for run in runs)]) for part in range(3)
    )
    return window, first, last


def _chains(lo: IntArray, hi: IntArray) -> Iterator[IntArray]:
    """The non-empty windows, parted so that in each part both bounds only grow.

    The windows of one query are one chain; those of several queries need at most one each.
    """
    rest = np.lexsort((hi, lo))
    rest = rest[lo[rest] < hi[rest]]
    while rest.size:
        grows = hi[rest] == np.maximum.accumulate(hi[rest])
        yield rest[grows]
        rest = rest[~grows]


def _chain_pairs(
    key: IntArray, slices: int, chain: IntArray, lo: IntArray, hi: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """The pairs of one chain, by group, then window.

    A row is the first of its group in a window iff the window begins after the group's row
    before it and contains it; it is the last iff the window ends by the row after it. Both
    describe a range of the chain, and both lists of pairs come in the same order.
    """
    group, at = np.divmod(key, slices)
    same = group[1:] == group[:-1]
    before, after = np.full(len(at), -1), np.full(len(at), slices)
    before[1:][same], after[:-1][same] = at[:-1][same], at[1:][same]
    # Entry i: how many windows of the chain begin (end) at or before slice i - 1.
    begun = np.searchsorted(lo, np.arange(-1, slices + 1), side="right")
    ended = np.searchsorted(hi, np.arange(-1, slices + 1), side="right")
    first, position = _spread(np.maximum(begun[before + 1], ended[at + 1]), begun[at + 1])
    last, _ = _spread(ended[at + 1], np.minimum(ended[after + 1], begun[at + 1]))
    return chain[position], first, last + 1


def _spread(begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """All (row, position) with begin[row] <= position < end[row], in order."""
    counts = np.maximum(end - begin, 0)
    skipped = np.cumsum(counts) - counts
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) + (begin - skipped)[row]


def _narrow(window: IntArray, windows: int) -> Array:
    """NumPy sorts 16-bit integers by radix, several times as fast as wider ones."""
    return window.astype(np.uint16) if windows <= 2**16 else window
