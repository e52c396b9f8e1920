"""How fast rows come, and when that asks for another plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidemill.engine.tick.journal import StreamState
from tidemill.share.weave import RateRanges

_US_PER_SECOND = 1_000_000
# How much the newest tick counts.
_SMOOTHING = 0.3


@dataclass
class RateWatch:
    """Rows per second of one stream's own time, smoothed, and the range that they are in."""

    ranges: RateRanges = field(default_factory=RateRanges)
    current: int | None = None
    rows_per_second: float | None = None
    _rows: int = 0
    _newest_us: int | None = None

    def note(self, state: StreamState) -> float | None:
        """After a tick: the rate to plan for, if the stream has come into another range."""
        newest_us = state.time.newest_us
        if newest_us is None or newest_us == self._newest_us:
            return None
        if self._newest_us is not None:
            seconds = (newest_us - self._newest_us) / _US_PER_SECOND
            self._smooth((state.rows_in - self._rows) / seconds)
        self._rows, self._newest_us = state.rows_in, newest_us
        return self._changed()

    def _smooth(self, rate: float) -> None:
        before = self.rows_per_second
        self.rows_per_second = rate if before is None else before + _SMOOTHING * (rate - before)

    def _changed(self) -> float | None:
        if self.rows_per_second is None:
            return None
        before = self.current
        self.current = self.ranges.next_range(before, self.rows_per_second)
        if before is None or self.current == before:
            return None
        return self.ranges.rates[self.current]
