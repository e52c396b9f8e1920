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
    """Of each row, whether it has a usable time, whether that is before no bound, whether it is
    before none by more than rows may be that correct, and the bound."""

    usable: BoolArray
    timely: BoolArray
    in_time: BoolArray
    bounds_us: IntArray  # one for all rows, or one for each

    @property
    def accepted(self) -> BoolArray:
        return self.usable & self.in_time

    @property
    def correcting(self) -> BoolArray | None:
        """Of each row, whether it is accepted and not timely; None: no row is."""
        if self.timely is self.in_time:
            return None
        correcting = self.accepted & ~self.timely
        return correcting if correcting.any() else None

    @property
    def late(self) -> BoolArray:
        return self.usable & ~self.in_time


class Judge:
    """Judges rows in the order of their arrivals, by bounds that are known or have come up.

    Of a bound that is not known it has the part that the rows it has met account for: a scan of
    the last arrivals alone lets too many rows pass, and never too few.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._register = terms.register
        self._arrival: Arrival | None = None
        self._newest_us: int | None = None  # of the arrival that is under way

    def judge(self, column: ChunkColumn, stretches: Sequence[Stretch]) -> Judged:
        times_us = column.numbers
        usable: BoolArray = (times_us >= EARLIEST_US) & (times_us <= self.terms.latest_us)
        if column.valid is not None:
            usable &= column.valid
        newest = _newest(times_us, usable, stretches)
        since = [
            self._bound(arrival, at) for (arrival, _), at in zip(stretches, newest, strict=True)
        ]
        bounds_us = np.array(since, dtype=np.int64)
        if len(since) > 1:
            bounds_us = np.repeat(bounds_us, [rows for _, rows in stretches])
        timely = times_us >= bounds_us
        correct_us = self.terms.correct_us
        # Nearly always all of them; then nothing need be compared again.
        is_plain = not correct_us or bool(timely.all())
        in_time = timely if is_plain else times_us >= bounds_us - correct_us
        return Judged(usable, timely, in_time, bounds_us)

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
