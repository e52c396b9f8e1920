"""The watermark: rows before it are late, windows that end by it are closed.

>>> time = StreamTime().advanced(newest_us=10_000_000, lateness_us=2_000_000)
>>> time.watermark_us
8000000
>>> time.advanced(newest_us=9_000_000, lateness_us=2_000_000) == time
True
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StreamTime:
    """The largest event time accepted and the watermark; None before the first row.

    A tick judges its rows by the time its predecessor committed, so the watermark never
    depends on the order of rows inside a tick.
    """

    newest_us: int | None = None
    watermark_us: int | None = None

    def advanced(self, newest_us: int | None, lateness_us: int) -> StreamTime:
        """After a tick whose newest accepted row is this old; time never goes back."""
        if newest_us is None:
            return self
        newest = newest_us if self.newest_us is None else max(self.newest_us, newest_us)
        return StreamTime(newest, self._later(newest - lateness_us))

    def flushed(self, last_end_us: int | None) -> StreamTime:
        """After closing every open window: what comes before the last end is late."""
        return self if last_end_us is None else StreamTime(self.newest_us, self._later(last_end_us))

    def next_update_us(self, update_us: int) -> int | None:
        """The end of the update that has the last row; updates come every so often."""
        return None if self.newest_us is None else (self.newest_us // update_us + 1) * update_us

    def reach_us(self, update_us: int) -> int | None:
        """How far soft queries see: as the watermark, and no further than the last row's update.

        A flush moves the watermark to the end of the longest window of all.
        """
        next_us = self.next_update_us(update_us)
        if self.watermark_us is None or next_us is None:
            return self.watermark_us
        return min(self.watermark_us, next_us)

    def updates(self, update_us: int) -> int | None:
        """The number of updates of the stream since the epoch, as soft queries see it."""
        reach_us = self.reach_us(update_us)
        return None if reach_us is None else reach_us // update_us

    def _later(self, watermark_us: int) -> int:
        return watermark_us if self.watermark_us is None else max(self.watermark_us, watermark_us)
