"""The verdict on rows by their times: without a usable one they are malformed, and late before
the bound of their arrival."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tidemill.arrays import BoolArray, IntArray
from tidemill.scan.arrays.chunk import ChunkColumn
from tidemill.scan.arrays.files import Stretch
from tidemill.scan.contract import Arrival, Terms, TimeSpan
from tidemill.time import EARLIEST_US, LATEST_US


class Judged(NamedTuple):
    """Of each row, whether it has a usable time, whether that is before no bound, and the bound."""

    usable: BoolArray
    timely: BoolArray
    bounds_us: IntArray  # one for all rows, or one for each


class Judge:
    """Judges rows in the order of their arrivals, by bounds that are known or have come up.

    Of a bound that is not known it has the part that the rows it has met account for: a scan of
    the last arrivals alone lets too many rows pass, and never too few.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._register = terms.register
        self._arrival: Arrival | None = None
        self._newest_us: int | None = None  # of the arrival that is under way

    def judge(self, column: ChunkColumn, stretches: Sequence[Stretch]) -> Judged:
        times_us = column.numbers
        usable: BoolArray = (times_us >= EARLIEST_US) & (times_us <= self._terms.latest_us)
        if column.valid is not None:
            usable &= column.valid
        newest = _newest(times_us, usable, stretches)
        since = [
            self._bound(arrival, at) for (arrival, _), at in zip(stretches, newest, strict=True)
        ]
        bounds_us = np.array(since, dtype=np.int64)
        if len(since) > 1:
            bounds_us = np.repeat(bounds_us, [rows for _, rows in stretches])
        return Judged(usable, times_us >= bounds_us, bounds_us)

    def broken(self, times_us: IntArray, late: BoolArray) -> BoolArray:
        """The late rows that break a promise."""
        before_us = self._terms.broken_before_us
        return late & (times_us < (EARLIEST_US if before_us is None else before_us))

    def _bound(self, arrival: Arrival, newest_us: int) -> int:
        """The bound of an arrival, some of whose rows are as new as this."""
        if arrival != self._arrival:
            lateness_us = self._terms.lateness_us
            self._register = self._register.advanced(self._newest_us, lateness_us)
            self._arrival, self._newest_us = arrival, None
        if newest_us >= EARLIEST_US:
            before_us = newest_us if self._newest_us is None else self._newest_us
            self._newest_us = max(newest_us, before_us)
        return self._terms.bounds.get(arrival, self._register.since_us)


def spans_of(
    times_us: IntArray, accepted: BoolArray, stretches: Sequence[Stretch]
) -> dict[Arrival, TimeSpan]:
    """The span of the accepted rows of each arrival that has any."""
    spans: dict[Arrival, TimeSpan] = {}
    oldest, newest = _oldest(times_us, accepted, stretches), _newest(times_us, accepted, stretches)
    for (arrival, _), low_us, high_us in zip(stretches, oldest, newest, strict=True):
        if low_us <= high_us:
            span = TimeSpan(low_us, high_us)
            spans[arrival] = span.joined(spans.get(arrival, span))
    return spans


def _oldest(times_us: IntArray, chosen: BoolArray, stretches: Sequence[Stretch]) -> list[int]:
    """The least of the chosen times in each stretch; past every time if there is none."""
    chosen_us = times_us if chosen.all() else np.where(chosen, times_us, LATEST_US + 1)
    oldest: list[int] = np.minimum.reduceat(chosen_us, _starts(stretches)).tolist()
    return oldest


def _newest(times_us: IntArray, chosen: BoolArray, stretches: Sequence[Stretch]) -> list[int]:
    """The greatest of the chosen times in each stretch; before every time if there is none."""
    chosen_us = times_us if chosen.all() else np.where(chosen, times_us, EARLIEST_US - 1)
    newest: list[int] = np.maximum.reduceat(chosen_us, _starts(stretches)).tolist()
    return newest


def _starts(stretches: Sequence[Stretch]) -> IntArray:
    """The place at which each stretch begins; none of them is empty."""
    return np.cumsum([0, *(rows for _, rows in stretches[:-1])])
