"""Windows without rows: which of those that are asked for have some, and which gaps are answered.

A gap is all windows between two with rows, or between one and an end of those that are asked
for. One that is too long is left out whole, so time is never walked: the year 9999 is one gap.

>>> run = Due(("q",), "s1", range_us=10, slide_us=10, first_us=0, windows=10**12, most_empty=2)
>>> numbers_with_rows(run, np.array([10, 40, 10**10])).tolist()
[1, 4, 1000000000]
>>> numbers, gaps = answered_numbers(run, np.array([1, 4, 10**9]))
>>> numbers.tolist(), gaps
([1, 2, 3, 4, 1000000000], Gaps(has_begun=True, skipped=999999999994))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.predicates import AnyReading
from tidemill.schedule import Due
from tidemill.state.cells import Cells
from tidemill.windows import WindowSpec, closed_windows


@dataclass(frozen=True)
class Gaps:
    """What has become of a query's windows without rows: whether one with rows has been met, and
    how many were left out."""

    has_begun: bool = False
    skipped: int = 0

    def __add__(self, other: Gaps) -> Gaps:
        return Gaps(self.has_begun or other.has_begun, self.skipped + other.skipped)


NO_GAPS = Gaps()


@dataclass(frozen=True)
class FilledRun:
    """The windows of a run that are answered, and which of them have no rows."""

    starts: IntArray
    is_empty: BoolArray
    gaps: Gaps


def fill(run: Due, reading: AnyReading, cells: Cells | None) -> FilledRun:
    """The windows of a run over the cells that hold the rows of its query."""
    with_rows = numbers_with_rows(run, _slices(reading, cells))
    numbers, gaps = answered_numbers(run, with_rows)
    is_empty = np.isin(numbers, with_rows, assume_unique=True, invert=True)
    return FilledRun(run.first_us + numbers * run.slide_us, is_empty, gaps)


def numbers_with_rows(run: Due, slices: IntArray) -> IntArray:
    """The windows of the run that hold a slice with rows, counted from its first."""
    spec = WindowSpec(run.range_us, run.slide_us, run.first_us % run.slide_us)
    before_us = run.first_us + run.range_us - 1
    starts = closed_windows(spec, slices, slices + 1, before_us, run.last_end_us)
    return (starts - run.first_us) // run.slide_us


def answered_numbers(run: Due, with_rows: IntArray) -> tuple[IntArray, Gaps]:
    """Those with rows and those of gaps that are short enough, ascending."""
    assert run.most_empty is not None
    bounds = np.concatenate([[-1], with_rows, [run.windows]]).astype(np.int64)
    first, lengths = bounds[:-1] + 1, np.diff(bounds) - 1
    if not run.has_begun:
        # Nothing comes before the first window with rows.
        lengths[0] = 0
    is_short = lengths <= run.most_empty
    spans = zip(first[is_short].tolist(), lengths[is_short].tolist(), strict=True)
    inner = [np.arange(low, low + count) for low, count in spans]
    numbers = np.sort(np.concatenate([with_rows, *inner]).astype(np.int64))
    return numbers, Gaps(run.has_begun or len(with_rows) > 0, int(lengths[~is_short].sum()))


def joined_gaps(runs: Sequence[tuple[int, Gaps]]) -> dict[int, Gaps]:
    """By the number of their query."""
    by_number: dict[int, Gaps] = {}
    for number, gaps in runs:
        by_number[number] = by_number.get(number, Gaps()) + gaps
    return by_number


def _slices(reading: AnyReading, cells: Cells | None) -> IntArray:
    """Starts of the slices with rows that the reading reads, ascending."""
    if cells is None:
        return np.zeros(0, np.int64)
    is_read = reading.matches(cells.signatures)[cells.signature]
    return cells.slices[np.unique(cells.slice_index[is_read])]
