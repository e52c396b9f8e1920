"""The windows that a watermark has closed, worked out from the slices that hold rows.

Time itself is never walked: one row in the year 9999 costs one slice, not eight millennia of
empty windows.

>>> spec = WindowSpec(range_us=8, slide_us=5)
>>> closed_windows(spec, np.array([5, 8]), np.array([8, 10]), after_us=None, until_us=13)
array([0, 5])
>>> closed_runs(spec, np.array([5, 8]), np.array([8, 10]), after_us=None, until_us=13)
(array([0]), array([2]))
"""

from __future__ import annotations

import numpy as np

from tidemill.arrays import IntArray
from tidemill.windows.edges import WindowSpec

_INT64 = np.iinfo(np.int64)


def closed_windows(
    spec: WindowSpec,
    slice_starts: IntArray,
    slice_ends: IntArray,
    after_us: int | None,
    until_us: int,
) -> IntArray:
    """Starts, ascending, of the windows that hold a slice and end in `(after_us, until_us]`.

    The slices given are the non-empty ones. A slice belongs to a window that contains all of
    it, so a slice in the gap of a hopping window belongs to none. `after_us=None` means that
    no window has been closed yet.
    """
    starts, counts = closed_runs(spec, slice_starts, slice_ends, after_us, until_us)
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(starts, counts) + within * spec.slide_us


def closed_runs(
    spec: WindowSpec,
    slice_starts: IntArray,
    slice_ends: IntArray,
    after_us: int | None,
    until_us: int,
) -> tuple[IntArray, IntArray]:
    """The same windows as runs of consecutive ones: the start of the first, and how many."""
    first, last = _windows_of_slices(spec, slice_starts, slice_ends)
    newest = spec.last_ending_by(until_us)
    oldest = _INT64.min if after_us is None else spec.last_ending_by(after_us) + 1
    first, last = np.maximum(first, _clamped(oldest)), np.minimum(last, _clamped(newest))
    numbers, counts = _union(first, last)
    return spec.start_us + numbers * spec.slide_us, counts


def _windows_of_slices(
    spec: WindowSpec, slice_starts: IntArray, slice_ends: IntArray
) -> tuple[IntArray, IntArray]:
    """First and last window number of each slice; first > last where there is none."""
    first = -((spec.start_us + spec.range_us - slice_ends) // spec.slide_us)
    last = (slice_starts - spec.start_us) // spec.slide_us
    return first, last


def _clamped(number: int) -> int:
    """A watermark of "the end of time" may be any large integer; window numbers are 64 bits."""
    return min(max(number, int(_INT64.min)), int(_INT64.max))


def _union(first: IntArray, last: IntArray) -> tuple[IntArray, IntArray]:
    """All integers in any `[first, last]`, as ascending runs: the first of each, and how many."""
    is_closed = first <= last
    first, last = first[is_closed], last[is_closed]
    order = np.argsort(first, kind="stable")
    first, reach = first[order], np.maximum.accumulate(last[order])
    begins, ends = np.ones(len(first), np.bool_), np.ones(len(first), np.bool_)
    begins[1:] = ends[:-1] = first[1:] > reach[:-1] + 1
    return first[begins], reach[ends] - first[begins] + 1
