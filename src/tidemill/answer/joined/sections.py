"""Runs of windows whose slices fit into matrices of a bounded size, side by side.

>>> lo, hi = np.array([0, 1, 5, 6]), np.array([3, 4, 8, 9])
>>> list(sections([(lo, hi)], 2))
[(slice(0, 2, None), [(0, 4)]), (slice(2, 4, None), [(5, 9)])]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tidemill.arrays import IntArray


def sections(
    bounds: Sequence[tuple[IntArray, IntArray]], most: int
) -> Iterator[tuple[slice, list[tuple[int, int]]]]:
    """Runs of neighbouring windows and by side the slices that they reach.

    `bounds` has by side the slices of each window. A run reaches as many slices as the longest
    window of the side has, and as many again at most; or so many as are given.
    """
    longest = [int((hi - lo).max(initial=0)) for lo, hi in bounds]
    first, windows = 0, len(bounds[0][0])
    while first < windows:
        size, spans = windows - first, []
        for (lo, hi), length in zip(bounds, longest, strict=True):
            low, high = _reach(lo[first : first + size], hi[first : first + size])
            fitting = int(np.searchsorted(high - low, max(most, 2 * length), side="right"))
            size = max(1, min(size, fitting))
            spans.append((low, high))
        yield slice(first, first + size), [_span(*span, size) for span in spans]
        first += size


def _reach(lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
    """The slices that each window reaches together with all before it; empty ones reach none."""
    is_empty = lo >= hi
    low = np.minimum.accumulate(np.where(is_empty, np.iinfo(np.int64).max // 2, lo))
    high = np.maximum.accumulate(np.where(is_empty, 0, hi))
    return np.minimum(low, high), high


def _span(low: IntArray, high: IntArray, size: int) -> tuple[int, int]:
    return int(low[size - 1]), int(high[size - 1])
