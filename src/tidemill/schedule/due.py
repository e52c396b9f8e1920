"""Strict periods: every window that the watermark has passed is due, once.

>>> specs = Specs.of([WindowSpec(8, 5), WindowSpec(3, 3)])
>>> due_windows(specs, np.array([5, 12]), after_us=None, until_us=15)[0]
[WindowRun(first_us=0, windows=2)]
>>> due_windows(specs, np.array([5, 12]), after_us=None, until_us=15)[1]
[WindowRun(first_us=3, windows=1), WindowRun(first_us=12, windows=1)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tidemill.arrays import IntArray
from tidemill.windows import END_US, WindowSpec, closed_windows

# A spec whose windows are more than this many to a slice has gaps without rows in between.
TRIED_PER_SLICE = 8


class Due(NamedTuple):
    """Consecutive windows of one query to answer now, all of one length, from one synopsis.

    An early answer is over the rows before `as_of_us`. Where `most_empty` is there, windows may
    have no rows: they are answered too, but not more than so many without one with rows between,
    nor, unless the query `has_begun`, before the first with rows. Windows that have been answered
    before have their `revisions`, the number of each one's correction; if there are none, they are
    answered the first time.
    """

    query: str
    synopsis: str
    range_us: int
    slide_us: int
    first_us: int
    windows: int
    as_of_us: int | None = None
    most_empty: int | None = None
    has_begun: bool = False
    revisions: tuple[int, ...] = ()

    def spans(self) -> Iterator[tuple[int, int]]:
        """The bounds of each window."""
        for number in range(self.windows):
            start_us = self.first_us + number * self.slide_us
            yield start_us, start_us + self.range_us

    @property
    def last_end_us(self) -> int:
        return self.first_us + (self.windows - 1) * self.slide_us + self.range_us


class WindowRun(NamedTuple):
    """Consecutive windows of a spec: the start of the first, and how many."""

    first_us: int
    windows: int


@dataclass(frozen=True)
class Specs:
    """Windows of many queries side by side."""

    specs: tuple[WindowSpec, ...]
    range_us: IntArray
    slide_us: IntArray
    start_us: IntArray

    @staticmethod
    def of(specs: Iterable[WindowSpec]) -> Specs:
        members = tuple(specs)
        rows = [(spec.range_us, spec.slide_us, spec.start_us) for spec in members]
        return Specs(members, *np.array(rows, dtype=np.int64).reshape(-1, 3).T)

    def last_ending_by(self, t_us: int) -> IntArray:
        """Number of the last window of each that ends at or before the instant."""
        return (t_us - self.start_us - self.range_us) // self.slide_us

    def last_starting_by(self, t_us: int) -> IntArray:
        return (t_us - self.start_us) // self.slide_us


def due_windows(
    specs: Specs, slices: IntArray, after_us: int | None, until_us: int
) -> list[list[WindowRun]]:
    """For each spec the windows with rows that end in `(after_us, until_us]`, ascending.

    `slices` are the starts of those that hold rows. Windows are cut at the edges of slices, so
    one that holds the start of a slice holds all of it.
    """
    runs: list[list[WindowRun]] = [[] for _ in specs.specs]
    if not len(slices):
        return runs
    spec, number = _with_rows(specs, slices, after_us, until_us)
    is_first = np.ones(len(spec), dtype=np.bool_)
    is_first[1:] = (spec[1:] != spec[:-1]) | (number[1:] != number[:-1] + 1)
    first = np.flatnonzero(is_first)
    owner, counts = spec[first], np.diff(first, append=len(spec))
    starts = specs.start_us[owner] + number[first] * specs.slide_us[owner]
    for place, start_us, count in zip(
        owner.tolist(), starts.tolist(), counts.tolist(), strict=True
    ):
        runs[place].append(WindowRun(start_us, count))
    return runs


def early_windows(
    specs: Specs, slices: IntArray, as_of_us: int, watermark_us: int
) -> list[list[WindowRun]]:
    """For each spec the open windows that have rows before the instant."""
    before = slices[: np.searchsorted(slices, as_of_us)]
    return due_windows(specs, before, watermark_us, END_US)


def last_instant(
    every_us: int, start_us: int, after_us: int | None, until_us: int | None
) -> int | None:
    """The last multiple of a duration, moved by START, in `(after_us, until_us]`.

    >>> last_instant(10, 3, 14, 30), last_instant(10, 3, 23, 30), last_instant(10, 3, None, 2)
    (23, None, -7)
    """
    if until_us is None:
        return None
    instant = until_us - (until_us - start_us) % every_us
    return instant if after_us is None or instant > after_us else None


def next_instant(every_us: int, start_us: int, after_us: int) -> int:
    """The first multiple of a duration, moved by START, after an instant.

    >>> next_instant(10, 3, 13), next_instant(10, 3, 14)
    (23, 23)
    """
    return after_us + every_us - (after_us - start_us) % every_us


def all_windows(
    spec: WindowSpec, slices: IntArray, after_us: int | None, until_us: int
) -> WindowRun | None:
    """All windows that end in `(after_us, until_us]`, with rows or without.

    Without `after_us` no window has been closed yet: then it is from the first with rows on.
    """
    if after_us is None and not len(slices):
        return None
    begin_us = int(slices[0]) if after_us is None else after_us
    closed, closing = spec.last_ending_by(begin_us), spec.last_ending_by(until_us)
    if closing <= closed:
        return None
    return WindowRun(spec.window_start(closed + 1), closing - closed)


def _with_rows(
    specs: Specs, slices: IntArray, after_us: int | None, until_us: int
) -> tuple[IntArray, IntArray]:
    """Spec and number of every window that is due, ordered by both."""
    oldest = specs.last_ending_by(int(slices[0])) + 1
    if after_us is not None:
        oldest = np.maximum(oldest, specs.last_ending_by(after_us) + 1)
    newest = specs.last_starting_by(int(slices[-1]))
    newest = np.minimum(newest, specs.last_ending_by(until_us))
    counts = np.maximum(newest - oldest + 1, 0)
    # Time is not walked over a gap of years: windows there are found from the slices.
    gaping = counts > TRIED_PER_SLICE * len(slices) + TRIED_PER_SLICE
    spec, number = _ranges(oldest, np.where(gaping, 0, counts))
    starts = specs.start_us[spec] + number * specs.slide_us[spec]
    low, high = np.searchsorted(slices, [starts, starts + specs.range_us[spec]])
    spec, number = spec[low < high], number[low < high]
    for place in np.flatnonzero(gaping).tolist():
        window = specs.specs[place]
        closed = closed_windows(window, slices, slices + 1, after_us, until_us)
        spec = np.concatenate([spec, np.full(len(closed), place)])
        number = np.concatenate([number, (closed - window.start_us) // window.slide_us])
    order = np.argsort(spec, kind="stable") if gaping.any() else slice(None)
    return spec[order], number[order]


def _ranges(first: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """All (place, first[place] + i) with i below the place's count."""
    place = np.repeat(np.arange(len(counts)), counts)
    skipped = np.cumsum(counts) - counts
    return place, np.arange(len(place)) + (first - skipped)[place]


def oldest_needed(specs: Specs, watermark_us: int) -> int:
    """The time before which no slice starts that an open window needs."""
    open_from = specs.last_ending_by(watermark_us) + 1
    return int((specs.start_us + open_from * specs.slide_us).min())
