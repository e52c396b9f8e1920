"""The rate of a stream's input: rows per second of its own time, smoothed over its ticks.

>>> rate = InputRate().after(100, oldest_us=0, newest_us=1_000_000)
>>> rate.rows_per_second
100.0
>>> rate = rate.after(50, oldest_us=900_000, newest_us=1_000_000)
>>> round(rate.after(150, oldest_us=1_100_000, newest_us=2_000_000).rows_per_second, 3)
130.0
"""

from __future__ import annotations

from dataclasses import dataclass

_US_PER_SECOND = 1_000_000
# The weight of the newest tick.
_SMOOTHING = 0.3


@dataclass(frozen=True)
class InputRate:
    """The rate up to some time, and rows since then that are not in it yet."""

    rows_per_second: float | None = None  # None before time has gone on
    until_us: int | None = None
    rows: int = 0

    def after(self, rows: int, oldest_us: int | None, newest_us: int | None) -> InputRate:
        """After a tick with so many rows, between these times if any of them counted.

        Rows of a tick that does not take time on are counted with the next one that does.
        """
        since_us = oldest_us if self.until_us is None else self.until_us
        total = self.rows + rows
        if since_us is None or newest_us is None or newest_us <= since_us:
            return InputRate(self.rows_per_second, since_us, total)
        measured = total * _US_PER_SECOND / (newest_us - since_us)
        return InputRate(self._smoothed(measured), newest_us)

    def _smoothed(self, measured: float) -> float:
        before = self.rows_per_second
        return measured if before is None else before + _SMOOTHING * (measured - before)
