"""The sparse layout, for many groups each in few slices.

Rows lie sorted by group, then slice. What a window holds of a group is then a run of rows, so
the kernels apply as they are, to one column of rows, and no window-by-group matrix is made.

>>> from tidemill.synopsis.kernels import COUNT
>>> slices, groups = np.array([0, 0, 2]), np.array([0, 1, 1])
>>> lo, hi = np.array([0, 1]), np.array([2, 3])
>>> got = combine_sparse(slices, groups, 3, lo, hi, [(np.array([5, 6, 7]), COUNT, None)])
>>> got.window.tolist(), got.group.tolist(), got.lanes[0][0].tolist()
([0, 0, 1], [0, 1, 1], [5, 6, 7])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tidemill.synopsis.dense import Combined, Lane, masked
from tidemill.synopsis.kernels import COUNT, AnyArray, BoolArray, IntArray, combine_slices


def combine_sparse(
    slice_index: IntArray,
    group: IntArray,
    slices: int,
    lo: IntArray,
    hi: IntArray,
    lanes: Sequence[Lane],
) -> Combined:
    """The sparse way of `combine_windows`."""
    key = group.astype(np.int64) * slices + slice_index
    order = np.argsort(key, kind="stable")
    key = key[order]
    if np.any(key[1:] == key[:-1]):
        raise ValueError("two rows have the same slice and group; fold them before combining")
    window, first, last = _pairs(key, slices, lo, hi)
    # Within a window the pairs are already in order of group.
    by_window = np.argsort(_narrow(window, len(lo)), kind="stable")
    columns = tuple(_column(lane, order, first, last, by_window) for lane in lanes)
    return Combined(window[by_window], key[first[by_window]] // max(1, slices), columns)


def _column(
    lane: Lane, order: IntArray, first: IntArray, last: IntArray, by_window: IntArray
) -> tuple[AnyArray, BoolArray]:
    values, algebra, valid = lane
    cells = masked(values, algebra, valid)[order][:, None]
    result = combine_slices(cells, first, last, algebra)[by_window, 0]
    if valid is None:
        return result, np.ones(len(result), dtype=bool)
    counts = combine_slices(valid[order].astype(np.int32)[:, None], first, last, COUNT)
    return result, counts[by_window, 0] > 0


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


def _narrow(window: IntArray, windows: int) -> AnyArray:
    """NumPy sorts 16-bit integers by radix, several times as fast as wider ones."""
    return window.astype(np.uint16) if windows <= 2**16 else window
