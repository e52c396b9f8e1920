"""The dense layout: a matrix of slices by groups, for groups that are in most slices.

>>> from tidemill.aggregates.algebra import COUNT
>>> rows, groups = np.array([0, 0, 2]), np.array([0, 1, 1])
>>> cells = _Matrix(rows, groups, slices=3, groups=2, rows=np.arange(3))
>>> cells(np.array([5, 6, 7]), COUNT).tolist()
[[5, 6], [0, 0], [0, 7]]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from tidemill.aggregates.algebra import COUNT, Algebra, at_places
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.state.kernels import combiner
from tidemill.state.layouts.cell_runs import AnyRuns, Apart, RunMatrix
from tidemill.state.layouts.lane_values import CombinedValues, LaneRows, LaneValues, PreparedLane

# Cells of slices by groups made ready at a time: 64 MiB a lane, more when one window is longer.
MOST_CELLS = 2**23
# Cells of windows by groups in a block. A megabyte stays in a core's cache from one step of
# finishing to the next; blocks of 32 MiB took twice as long.
BLOCK_CELLS = 2**17


class DenseBlock:
    """Some windows by all groups; `window` are their numbers, bounds ascending."""

    def __init__(self, section: _Section, window: IntArray, lo: IntArray, hi: IntArray) -> None:
        self._section, self._lo, self._hi = section, lo, hi
        self._numbers, self._groups = window, section.groups
        self.shape = (len(window), section.groups)
        self.window, self.group = window[:, None], np.arange(section.groups)[None, :]

    @cached_property
    def present(self) -> BoolArray | None:
        """Flags of the cells that have rows behind them; None if all have."""
        if np.all(self._section.full[self._hi] > self._section.full[self._lo]):
            return None
        return np.asarray(self._section.rows.windows(self._lo, self._hi) > 0)

    def lane(self, number: int) -> CombinedValues | AnyRuns:
        """The lane of every cell, window after window."""
        lane = self._section.lane(number)
        if isinstance(lane, RunMatrix):
            return lane.windows(self._lo, self._hi)
        values, valid = lane.windows(*self._probes)
        if self._probe_of is not None:
            values = values[self._probe_of]
            valid = None if valid is None else valid[self._probe_of]
        flat = values.reshape(-1, *values.shape[2:])
        return flat, None if valid is None else valid.ravel()

    def at(self, cells: IntArray) -> DensePlaces:
        """Some cells, by their place in the flattened block."""
        row, group = np.divmod(cells, self._groups)
        return DensePlaces(self._section, self._numbers[row], group, self._lo[row], self._hi[row])

    # Rule CS1: windows of equal bounds share one probe. They lie side by side here.

    @cached_property
    def _is_new(self) -> BoolArray:
        same = (self._lo[1:] == self._lo[:-1]) & (self._hi[1:] == self._hi[:-1])
        return np.concatenate([[True], ~same])

    @cached_property
    def _probes(self) -> tuple[IntArray, IntArray]:
        return self._lo[self._is_new], self._hi[self._is_new]

    @cached_property
    def _probe_of(self) -> IntArray | None:
        return None if self._is_new.all() else np.cumsum(self._is_new) - 1


@dataclass(frozen=True)
class DensePlaces:
    """Some cells of a dense block, each a window `lo:hi` of one group, with rows behind it."""

    section: _Section
    window: IntArray
    group: IntArray
    lo: IntArray
    hi: IntArray

    @property
    def shape(self) -> tuple[int]:
        return (len(self.window),)

    @property
    def present(self) -> BoolArray | None:
        return None

    def lane(self, number: int) -> CombinedValues | AnyRuns:
        return self.section.lane(number).at(self.lo, self.hi, self.group)

    def at(self, cells: IntArray) -> DensePlaces:
        places = (self.window, self.group, self.lo, self.hi)
        return DensePlaces(self.section, *(numbers[cells] for numbers in places))


class DenseCells:
    """Cells laid out densely, for windows like `lo:hi` of slices."""

    def __init__(
        self,
        slice_index: IntArray,
        group: IntArray,
        groups: int,
        slices: int,
        lanes: Sequence[LaneRows],
        rows: IntArray,
        windows: tuple[IntArray, IntArray],
    ) -> None:
        self._at, self._group, self._groups, self._lanes = slice_index, group, groups, lanes
        self._slices, self._rows = slices, rows
        self._windows = _ascending(*windows)[1:]
        self._first = np.array(list(self._firsts()), dtype=np.int64)
        self._made: tuple[int, _Section] | None = None

    def blocks(self, lo: IntArray, hi: IntArray) -> Iterator[DenseBlock]:
        """Every window that is not empty, in runs, each over the slices its windows reach."""
        numbers, lo, hi = _ascending(lo, hi)
        step = max(1, BLOCK_CELLS // max(1, self._groups))
        bounds = [*np.searchsorted(lo, self._first).tolist(), len(lo)]
        for run, (low, high) in enumerate(pairwise(bounds)):
            for begin in range(low, high, step):
                part, section = slice(begin, min(begin + step, high)), self._section(run)
                inside = lo[part] - section.first, hi[part] - section.first
                yield DenseBlock(section, numbers[part], *inside)

    def _firsts(self) -> Iterator[int]:
        """The first slice of every section, of as many as `MOST_CELLS` allow to begin in it."""
        lo, _ = self._windows
        span, low = max(1, MOST_CELLS // max(1, self._groups)), 0
        while low < len(lo):
            yield int(lo[low])
            low = int(np.searchsorted(lo, lo[low] + span))

    def _section(self, run: int) -> _Section:
        if self._made is None or self._made[0] != run:
            # One at a time: the next windows lie further on.
            self._made = run, self._make(run)
        return self._made[1]

    def _make(self, run: int) -> _Section:
        bounds = np.append(np.searchsorted(self._windows[0], self._first), len(self._windows[0]))
        lo, hi = (end[bounds[run] : bounds[run + 1]] for end in self._windows)
        first, last = int(lo[0]), int(hi.max())
        if 2 * (last - first) > self._slices and self._slices * self._groups <= MOST_CELLS:
            # To take out what is needed would cost more than a few slices too many do.
            first, last = 0, self._slices
        at, group, rows = self._at, self._group, self._rows
        if (first, last) != (0, self._slices):
            within = np.flatnonzero((at >= first) & (at < last))
            at, group, rows = at[within] - first, group[within], rows[within]
        matrix = _Matrix(at, group, last - first, self._groups, rows)
        return _Section(first, matrix, self._lanes, (lo, hi))


def _ascending(lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The windows that are not empty, by where they begin: their numbers and bounds."""
    order = np.argsort(lo, kind="stable")
    order = order[lo[order] < hi[order]]
    return order, lo[order], hi[order]


class _Matrix:
    """Lanes by row ⇒ (slices, groups, …): some rows combined, the identity elsewhere."""

    def __init__(
        self, slice_index: IntArray, group: IntArray, slices: int, groups: int, rows: IntArray
    ) -> None:
        self._place, self._rows = slice_index * groups + group, rows
        self._slices, self.groups = slices, groups

    def __call__(self, values: Array, algebra: Algebra) -> Array:
        cells = self._slices * self.groups
        laid = at_places(algebra, values, self._place, cells, self._rows)
        return laid.reshape(self._slices, self.groups, *values.shape[1:])

    def apart(self, cells: Apart) -> RunMatrix:
        at, group = np.divmod(self._place, self.groups)
        return RunMatrix(cells.take(self._rows), at, group, self._slices, self.groups)

    @cached_property
    def counts(self) -> Array:
        """The number of rows in each."""
        found = np.bincount(self._place, minlength=self._slices * self.groups)
        return found.reshape(self._slices, self.groups)


class _Section:
    """The slices from `first` on as matrices, each lane made ready when it is asked for."""

    def __init__(
        self,
        first: int,
        matrix: _Matrix,
        lanes: Sequence[LaneRows],
        windows: tuple[IntArray, IntArray],
    ) -> None:
        self.first, self.groups = first, matrix.groups
        bounds = windows[0] - first, windows[1] - first
        # How many slices before each have every group.
        self.full = np.concatenate([[0], np.cumsum(matrix.counts.all(axis=1))])
        self.rows = combiner(matrix.counts, *bounds, COUNT)
        self._matrix, self._rows, self._bounds = matrix, lanes, bounds
        self._made: dict[int, PreparedLane | RunMatrix] = {}

    def lane(self, number: int) -> PreparedLane | RunMatrix:
        if number not in self._made:
            self._made[number] = self._make(self._rows[number])
        return self._made[number]

    def _make(self, lane: LaneRows) -> PreparedLane | RunMatrix:
        if isinstance(lane, LaneValues):
            return PreparedLane(lane, self._matrix, self._bounds)
        return self._matrix.apart(lane)
