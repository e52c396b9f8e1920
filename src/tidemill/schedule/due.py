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
from tidemill.windows import BEGINNING_US, END_US, WindowSpec, closed_runs

# A spec whose windows are more than this many to a slice has gaps without rows in between.
TRIED_PER_SLICE = 8


class Due(NamedTuple):
    """Consecutive windows to answer now, all of one length, from one synopsis, for all queries
    that have them in common.

    An early answer is over the rows before `as_of_us`. Where `most_empty` is there, windows may
    have no rows: they are answered too, but not more than so many without one with rows between,
    nor, unless the query, which is alone then, `has_begun`, before the first with rows. Windows
    that have been answered before have their `revisions`, the number of each one's correction; if
    there are none, they are answered the first time. Some are `compared` alone: what changes from
    their answers to the next ones is asked for.
    """

    queries: tuple[str, ...]
    synopsis: str
    range_us: int
    slide_us: int
    first_us: int
    windows: int
    as_of_us: int | None = None
    most_empty: int | None = None
    has_begun: bool = False
    revisions: tuple[int, ...] = ()
    compared: bool = False

    @property
    def may_begin(self) -> bool:
        """True if it may have the first window with rows of a query that has asked for others."""
        return self.most_empty is not None and not self.has_begun

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


DelayedSpec = tuple[WindowSpec, int]


@dataclass(frozen=True)
class Specs:
    """Windows of many queries side by side; of each, how long after its end it is asked for."""

    specs: tuple[WindowSpec, ...]
    range_us: IntArray
    slide_us: IntArray
    start_us: IntArray
    after_us: IntArray

    @staticmethod
    def of(specs: Iterable[WindowSpec]) -> Specs:
        return Specs.delayed((spec, 0) for spec in specs)

    @staticmethod
    def delayed(specs: Iterable[DelayedSpec]) -> Specs:
        """Each with how long after its end it is asked for."""
        members = tuple(specs)
        rows = [(spec.range_us, spec.slide_us, spec.start_us, us) for spec, us in members]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        return Specs(tuple(spec for spec, _ in members), *columns)

    def last_due_by(self, t_us: int | IntArray) -> IntArray:
        """Number of the last window of each that is asked for by the instant."""
        ends: IntArray = (t_us - self.after_us - self.start_us - self.range_us) // self.slide_us
        return ends

    def last_ending_by(self, t_us: int | IntArray) -> IntArray:
        """Number of the last window of each that ends at or before the instant."""
        return (t_us - self.start_us - self.range_us) // self.slide_us

    def last_starting_by(self, t_us: int) -> IntArray:
        return (t_us - self.start_us) // self.slide_us


def due_windows(
    specs: Specs, slices: IntArray, after_us: int | None, until_us: int
) -> list[list[WindowRun]]:
    """For each spec the windows with rows that are asked for in `(after_us, until_us]`, ascending.

    `slices` are the starts of those that hold rows. Windows are cut at the edges of slices, so
    one that holds the start of a slice holds all of it.
    """
    runs: list[list[WindowRun]] = [[] for _ in specs.specs]
    if not len(slices):
        return runs
    oldest, newest = _bounds(specs, slices, after_us, until_us)
    counts = np.maximum(newest - oldest + 1, 0)
    # Neither time is walked over a gap of years, nor windows that are many to a slice.
    is_long = counts > TRIED_PER_SLICE * len(slices) + TRIED_PER_SLICE
    for place in np.flatnonzero(is_long).tolist():
        spec = specs.specs[place]
        late_us = int(specs.after_us[place])
        since_us = None if after_us is None else after_us - late_us
        starts, lengths = closed_runs(spec, slices, slices + 1, since_us, until_us - late_us)
        runs[place] = list(map(WindowRun, starts.tolist(), lengths.tolist()))
    owner, number = _with_rows(specs, slices, oldest, np.where(is_long, 0, counts))
    is_first = np.ones(len(owner), dtype=np.bool_)
    is_first[1:] = (owner[1:] != owner[:-1]) | (number[1:] != number[:-1] + 1)
    first = np.flatnonzero(is_first)
    places, lengths = owner[first], np.diff(first, append=len(owner))
    starts = specs.start_us[places] + number[first] * specs.slide_us[places]
    for place, start_us, count in zip(
        places.tolist(), starts.tolist(), lengths.tolist(), strict=True
    ):
        runs[place].append(WindowRun(start_us, count))
    return runs


def parts_of_due(due: Iterable[Due], most: int) -> Iterator[list[Due]]:
    """The runs in parts of up to so many windows, counted for each who asks; one part at least.

    A query that has not begun has one run in a part.

    >>> runs = Due(("p", "q"), "s1", 9, 1, 0, 5), Due(("r",), "s1", 9, 3, 0, 2)
    >>> for part in parts_of_due(runs, 6):
    ...     print([(run.first_us, run.windows) for run in part])
    [(0, 3)]
    [(3, 2), (0, 2)]
    """
    part, size, beginning = list[Due](), 0, set[tuple[str, ...]]()
    for piece in (piece for run in sorted(due, key=_begins_at) for piece in _cut(run, most)):
        windows = piece.windows * len(piece.queries) if piece.most_empty is None else 0
        # Whether a query has begun is known once the part with its earlier windows is answered.
        is_next = not piece.may_begin or piece.queries not in beginning
        if part and (size + windows > most or not is_next):
            yield part
            part, size = [], 0
        part.append(piece)
        size += windows
        beginning |= {piece.queries} if piece.may_begin else set()
    yield part


def _begins_at(run: Due) -> int:
    """Runs of queries that have not begun go by time, after all others."""
    return run.first_us if run.may_begin else BEGINNING_US


def _cut(run: Due, most: int) -> Iterator[Due]:
    """A run in pieces; whole where only the cells tell what windows of it are answered."""
    step = max(1, most // len(run.queries))
    if run.most_empty is not None or run.windows <= step:
        yield run
        return
    for skipped in range(0, run.windows, step):
        first_us = run.first_us + skipped * run.slide_us
        windows, revisions = min(step, run.windows - skipped), run.revisions[skipped:]
        yield run._replace(first_us=first_us, windows=windows, revisions=revisions[:windows])


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


def _bounds(
    specs: Specs, slices: IntArray, after_us: int | None, until_us: int
) -> tuple[IntArray, IntArray]:
    """Numbers of the first and the last window of each spec that may be due."""
    oldest = specs.last_ending_by(int(slices[0])) + 1
    if after_us is not None:
        oldest = np.maximum(oldest, specs.last_due_by(after_us) + 1)
    newest = specs.last_starting_by(int(slices[-1]))
    return oldest, np.minimum(newest, specs.last_due_by(until_us))


def _with_rows(
    specs: Specs, slices: IntArray, oldest: IntArray, counts: IntArray
) -> tuple[IntArray, IntArray]:
    """Spec and number of the windows that have rows, of so many tried, ordered by both."""
    spec, number = _ranges(oldest, counts)
    starts = specs.start_us[spec] + number * specs.slide_us[spec]
    low, high = np.searchsorted(slices, [starts, starts + specs.range_us[spec]])
    return spec[low < high], number[low < high]


def _ranges(first: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """All (place, first[place] + i) with i below the place's count."""
    place = np.repeat(np.arange(len(counts)), counts)
    skipped = np.cumsum(counts) - counts
    return place, np.arange(len(place)) + (first - skipped)[place]


def oldest_needed(specs: Specs, watermark_us: int) -> int:
    """The time before which no slice starts that an open window needs."""
    open_from = specs.last_ending_by(watermark_us) + 1
    return int((specs.start_us + open_from * specs.slide_us).min())
