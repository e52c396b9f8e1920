"""The dense layout: a matrix of slices by groups, for groups that are in most slices.

>>> from tidemill.synopsis.kernels import COUNT
>>> rows, groups = np.array([0, 0, 2]), np.array([0, 1, 1])
>>> dense(rows, groups, np.array([5, 6, 7]), slices=3, groups=2, identity=0).tolist()
[[5, 6], [0, 0], [0, 7]]
>>> combine_dense(rows, groups, 2, np.array([1]), np.array([3]), [(rows, COUNT, None)])
Combined(window=array([0]), group=array([1]), lanes=((array([2]), array([ True])),))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidemill.synopsis.kernels import COUNT, Algebra, AnyArray, BoolArray, IntArray, combine_slices

# Elements of one lane's answers held at a time, 32 MiB of them. Windows are taken in runs that
# stay below it (a single window of more groups than that is taken alone).
MOST_ELEMENTS = 2**22

# Values (rows, or rows by limbs), how they combine, and which rows are not NULL (None: all).
Lane = tuple[AnyArray, Algebra, BoolArray | None]


@dataclass(frozen=True)
class Combined:
    """One row for each window and group with rows in it, ordered by (window, group).

    Each lane is its values and the mask of those that are not NULL; a value under a False is
    the algebra's identity.
    """

    window: IntArray
    group: IntArray
    lanes: tuple[tuple[AnyArray, BoolArray], ...]


def dense(
    slice_index: IntArray,
    group: IntArray,
    values: AnyArray,
    slices: int,
    groups: int,
    identity: Any,
) -> AnyArray:
    """Rows of distinct (slice, group) scattered to (slices, groups, …), identity elsewhere."""
    cells = np.full((slices, groups, *values.shape[1:]), identity, dtype=values.dtype)
    cells[slice_index, group] = values
    return cells


def combine_dense(
    slice_index: IntArray,
    group: IntArray,
    groups: int,
    lo: IntArray,
    hi: IntArray,
    lanes: Sequence[Lane],
) -> Combined:
    """The dense way of `combine_windows`."""
    rows = _Rows(slice_index, group, groups, lanes)
    widest = max((values[:1].size for values, _, _ in lanes), default=1)
    step = max(1, MOST_ELEMENTS // max(1, groups * widest))
    parts = list(_parts(rows, lo, hi, min(step, max(1, len(lo)))))
    return _joined(parts)


@dataclass(frozen=True)
class _Rows:
    slice_index: IntArray
    group: IntArray
    groups: int
    lanes: Sequence[Lane]

    def between(self, first: int, last: int) -> _Rows:
        """The rows of slices first to last, which become slices 0 to last - first."""
        inside = (self.slice_index >= first) & (self.slice_index < last)
        mine = slice(None) if inside.all() else np.nonzero(inside)[0]
        lanes = [_picked(lane, mine) for lane in self.lanes]
        return _Rows(self.slice_index[mine] - first, self.group[mine], self.groups, lanes)

    def cells(self, values: AnyArray, slices: int, identity: Any) -> AnyArray:
        return dense(self.slice_index, self.group, values, slices, self.groups, identity)


def _parts(rows: _Rows, lo: IntArray, hi: IntArray, step: int) -> Iterator[Combined]:
    """Runs of windows, each over only the slices that its windows reach."""
    for begin in range(0, max(1, len(lo)), step):
        low, high = lo[begin : begin + step], hi[begin : begin + step]
        first = int(low.min(initial=2**62, where=low < high))
        last = max(first, int(high.max(initial=0, where=low < high)))
        # Empty windows may lie anywhere; they are moved into the run, still empty.
        low, high = np.clip(low, first, last) - first, np.clip(high, first, last) - first
        yield _part(rows.between(first, last), low, high, last - first, begin)


def _part(rows: _Rows, lo: IntArray, hi: IntArray, slices: int, begin: int) -> Combined:
    present = rows.cells(np.ones(len(rows.group), np.int32), slices, 0)
    if np.count_nonzero(present) != len(rows.group):
        raise ValueError("two rows have the same slice and group; fold them before combining")
    window, group = np.nonzero(combine_slices(present, lo, hi, COUNT))
    lanes = tuple(_lane(rows, lane, lo, hi, slices, window, group) for lane in rows.lanes)
    return Combined(window + begin, group, lanes)


def _lane(
    rows: _Rows,
    lane: Lane,
    lo: IntArray,
    hi: IntArray,
    slices: int,
    window: IntArray,
    group: IntArray,
) -> tuple[AnyArray, BoolArray]:
    values, algebra, valid = lane
    cells = rows.cells(masked(values, algebra, valid), slices, algebra.identity)
    result = combine_slices(cells, lo, hi, algebra)[window, group]
    if valid is None:
        return result, np.ones(len(window), dtype=bool)
    counts = combine_slices(rows.cells(valid.astype(np.int32), slices, 0), lo, hi, COUNT)
    return result, counts[window, group] > 0


def masked(values: AnyArray, algebra: Algebra, valid: BoolArray | None) -> AnyArray:
    """The values with the identity in place of NULLs, of which nothing is assumed."""
    if valid is None or valid.all():
        return values
    values = values.copy()
    values[~valid] = algebra.identity
    return values


def _picked(lane: Lane, rows: IntArray | slice) -> Lane:
    values, algebra, valid = lane
    return values[rows], algebra, None if valid is None else valid[rows]


def _joined(parts: Sequence[Combined]) -> Combined:
    if len(parts) == 1:
        return parts[0]
    lanes = tuple(
        (np.concatenate([values for values, _ in lane]), np.concatenate([v for _, v in lane]))
        for lane in zip(*(part.lanes for part in parts), strict=True)
    )
    window = np.concatenate([part.window for part in parts])
    return Combined(window, np.concatenate([part.group for part in parts]), lanes)
