"""The register of a source: how far its time has come, and what is promised of its rows to come.

>>> register = Register().advanced(newest_us=10_000_000, lateness_us=2_000_000)
>>> register.promised_us
8000000
>>> register.advanced(newest_us=9_000_000, lateness_us=2_000_000) == register
True
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

# Beyond these the sum of a time and a window would leave 64 bits.
EARLIEST_US, LATEST_US = -(2**60), 2**60


@dataclass(frozen=True)
class Register:
    """The newest time that counted and the watermark; None before the first row.

    No row of the source that is to come counts if it is older than what is promised. The newest
    time less the lateness is such a promise, and so are what is declared or known of rows to come
    and the end of the last window that a flush has closed. Neither time ever goes back, and both
    stand in the record of a tick, so a tick that is run again judges its rows as it did before.
    """

    newest_us: int | None = None
    promised_us: int | None = None
    # Whose promise goes beyond the newest time less the lateness; empty if none does.
    word: str = ""
    # When the newest time arrived, by the clock of who took it.
    arrived_us: int | None = None
    # How much longer arrivals were under way than those before them, at most, and how many told.
    drift_us: int = 0
    arrivals: int = 0

    @staticmethod
    def of_all(registers: Iterable[Register]) -> Register:
        """The register of a stream of several sources: promised is what all of them promise.

        >>> several = Register.of_all([Register(50, 40), Register(90, 30)])
        >>> several.newest_us, several.promised_us
        (90, 30)
        >>> Register.of_all([Register(50, 40), Register()]).watermark_us
        """
        several = tuple(registers)
        newest_us = max((r.newest_us for r in several if r.newest_us is not None), default=None)
        promises = [r.promised_us for r in several]
        if any(promise is None for promise in promises):
            return Register(newest_us)
        return Register(newest_us, min(p for p in promises if p is not None))

    @property
    def watermark_us(self) -> int | None:
        """The time by which windows close: what is promised."""
        return self.promised_us

    @property
    def since_us(self) -> int:
        """No row that counts is older."""
        return EARLIEST_US if self.promised_us is None else self.promised_us

    @property
    def broken_before_us(self) -> int | None:
        """Rows that are older break a promise that goes beyond the lateness, if there is one."""
        return self.promised_us if self.word else None

    def advanced(self, newest_us: int | None, lateness_us: int) -> Register:
        """After rows whose newest that counted is this old; time never goes back."""
        if newest_us is None:
            return self
        newest = newest_us if self.newest_us is None else max(self.newest_us, newest_us)
        return replace(self, newest_us=newest).promised(newest - lateness_us)

    def promised(self, until_us: int | None, word: str = "") -> Register:
        """After a promise that no row to come is older; one that would go back changes nothing."""
        if until_us is None or (self.promised_us is not None and until_us <= self.promised_us):
            return self
        return replace(self, promised_us=until_us, word=word)

    def arrived(self, newest_us: int | None, at_us: int, is_fresh: bool) -> Register:
        """After an arrival, before `advanced`. It tells of drift if it is fresh: if it came when
        all that came before had been taken."""
        if newest_us is None:
            return self
        register = self
        if is_fresh and self.newest_us is not None and self.arrived_us is not None:
            drift_us = (at_us - self.arrived_us) - (newest_us - self.newest_us)
            register = replace(
                self, drift_us=max(self.drift_us, drift_us), arrivals=self.arrivals + 1
            )
        if self.newest_us is None or newest_us > self.newest_us:
            register = replace(register, arrived_us=at_us)
        return register

    def next_update_us(self, update_us: int) -> int | None:
        """The end of the update that has the last row; updates come every so often."""
        return None if self.newest_us is None else (self.newest_us // update_us + 1) * update_us

    def reach_us(self, update_us: int) -> int | None:
        """How far soft queries see: as the watermark, and no further than the last row's update.

        A flush moves the watermark to the end of the longest window of all.
        """
        next_us = self.next_update_us(update_us)
        if self.promised_us is None or next_us is None:
            return self.promised_us
        return min(self.promised_us, next_us)

    def updates(self, update_us: int) -> int | None:
        """The number of updates of the stream since the epoch, as soft queries see it."""
        reach_us = self.reach_us(update_us)
        return None if reach_us is None else reach_us // update_us
