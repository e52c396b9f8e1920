"""A machine that costs what it is told to, with a clock that shows it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tidemill.calibrate.rows import Make, RowFigures
from tidemill.calibrate.stage import MODEL
from tidemill.state.feed import Feed


class MadeUpMachine:
    """Each work takes a fixed time and some noise, in turn, on top of its own."""

    def __init__(self, fixed_s: float = 0.0, noise: Sequence[float] = (0.0,)) -> None:
        self._now, self._fixed, self._noise = 0.0, fixed_s, itertools.cycle(noise)

    def clock(self) -> float:
        return self._now

    def work(self, seconds: float) -> None:
        self._now += seconds + self._fixed + next(self._noise)

    def maker(self, figures: RowFigures) -> Make:
        """Makes no partials, but takes the time for a thousand in each second it cuts."""

        def make(paths: Sequence[str], feeds: Sequence[Feed]) -> int:
            rows = len(paths) * MODEL.rate
            slide_s = feeds[0].synopses[0].windows[0].slide_us / 1_000_000
            cells = 1_000 + round(1_000_000 / slide_s)
            more = rows * (len(feeds) - 1)
            spent = rows * figures.scan_ns + more * figures.set_ns + cells * figures.partial_ns
            self.work(spent * 1e-9)
            return cells

        return make
