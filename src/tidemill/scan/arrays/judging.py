"""The verdict on rows by their times: without a usable one they are malformed, and late before
the bound of their arrival."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidemill.arrays import BoolArray, IntArray
from tidemill.scan.arrays.chunk import ChunkColumn
from tidemill.scan.arrays.files import Stretch
from tidemill.scan.contract import Arrival, Terms, TimeSpan
from tidemill.time import EARLIEST_US, LATEST_US


@dataclass(frozen=True)
class Judged:
    """Of each row, whether it has a usable time, whether that is before no bound, and whether it is
    before none by more than rows may be that correct; and the spans of the times of rows that are
    timely, and of those that correct, by arrival."""

    usable: BoolArray
    timely: BoolArray
    in_time: BoolArray
    spans: dict[Arrival, TimeSpan]
    spans_correcting: dict[Arrival, TimeSpan]
    stretches: Sequence[Stretch]
    since_us: Sequence[int]  # the bound of each stretch

    @property
    def bounds_us(self) -> IntArray:
        """The bound of each row."""
        return np.repeat(self.since_us, [rows for _, rows in self.stretches])

    @property
    def accepted(self) -> BoolArray:
        return self.usable & self.in_time

    @property
    def late(self) -> BoolArray:
        return self.usable & ~self.in_time


class Judge:
    """Judges rows in the order of their arrivals, by bounds that are known or have come up.

    Of a bound that is not known it has the part that the rows it has met account for: a scan of
    the last arrivals alone lets too many rows pass, and never too few. Most rows are timely, which
    the oldest of each arrival tells for all of its rows.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._register = terms.register
        self._arrival: Arrival | None = None
        self._newest_us: int | None = None  # of the arrival that is under way

    def judge(self, column: ChunkColumn, stretches: Sequence[Stretch]) -> Judged:
        times_us = column.numbers
        usable, ends = self._usable(column, stretches)
        since = [
            self._bound(arrival, newest)
            for (arrival, _), (_, newest) in zip(stretches, ends, strict=True)
        ]
        if all(oldest >= bound for (oldest, _), bound in zip(ends, since, strict=True)):
            every = np.ones_like(usable)
            return Judged(usable, every, every, _by_arrival(stretches, ends), {}, stretches, since)
        bounds_us = np.repeat(since, [rows for _, rows in stretches])
        timely = in_time = times_us >= bounds_us
        spans = _spans(times_us, usable & timely, stretches)
        correcting: dict[Arrival, TimeSpan] = {}
        if correct_us := self.terms.correct_us:
            in_time = times_us >= bounds_us - correct_us
            correcting = _spans(times_us, usable & in_time & ~timely, stretches)
        return Judged(usable, timely, in_time, spans, correcting, stretches, since)

    def _usable(
        self, column: ChunkColumn, stretches: Sequence[Stretch]
    ) -> tuple[BoolArray, list[TimeSpan]]:
        """Of each row whether its time can be used, and the span of such times in each stretch."""
        times_us, latest_us = column.numbers, self.terms.latest_us
        if column.valid is None:
            every = np.ones(len(times_us), np.bool_)
            ends = _ends(times_us, every, stretches)
            if all(oldest >= EARLIEST_US and newest <= latest_us for oldest, newest in ends):
                return every, ends
        usable: BoolArray = (times_us >= EARLIEST_US) & (times_us <= latest_us)
        if column.valid is not None:
            usable &= column.valid
        return usable, _ends(times_us, usable, stretches)

    def _bound(self, arrival: Arrival, newest_us: int) -> int:
        """The bound of an arrival, some of whose rows are as new as this."""
        if arrival != self._arrival:
            lateness_us = self.terms.lateness_us
            self._register = self._register.advanced(self._newest_us, lateness_us)
            self._arrival, self._newest_us = arrival, None
        if newest_us >= EARLIEST_US:
            before_us = newest_us if self._newest_us is None else self._newest_us
            self._newest_us = max(newest_us, before_us)
        return self.terms.bounds.get(arrival, self._register.since_us)


def _spans(
    times_us: IntArray, chosen: BoolArray, stretches: Sequence[Stretch]
) -> dict[Arrival, TimeSpan]:
    """The spans of the chosen times, by arrival."""
    return _by_arrival(stretches, _ends(times_us, chosen, stretches))


def _by_arrival(stretches: Sequence[Stretch], ends: Sequence[TimeSpan]) -> dict[Arrival, TimeSpan]:
    """The spans of arrivals that have any of the times."""
    spans: dict[Arrival, TimeSpan] = {}
    for (arrival, _), span in zip(stretches, ends, strict=True):
        if span.oldest_us <= span.newest_us:
            spans[arrival] = span.joined(spans.get(arrival, span))
    return spans


def _ends(times_us: IntArray, chosen: BoolArray, stretches: Sequence[Stretch]) -> list[TimeSpan]:
    """The least and the greatest of the chosen times in each stretch, none of which is empty.

    Where there is none, the least is past every time, and the greatest before.
    """
    starts = np.cumsum([0, *(rows for _, rows in stretches[:-1])])
    low_us = high_us = times_us
    if not chosen.all():
        low_us = np.where(chosen, times_us, LATEST_US + 1)
        high_us = np.where(chosen, times_us, EARLIEST_US - 1)
    oldest = np.minimum.reduceat(low_us, starts).tolist()
    newest = np.maximum.reduceat(high_us, starts).tolist()
    return [TimeSpan(*span) for span in zip(oldest, newest, strict=True)]
