"""The history of a soft query's runs, counted in updates of its synopsis.

>>> history = History()
>>> for update, at in ((10, 10), (12, 12), (17, 18)):
...     history = history.after(update, period=4, now_us=0, together=1, at=at)
>>> history.runs, history.useful, history.extra, history.achieved
(3, 2.5, 1, 3.5)
>>> history.late(update=23, period=4), history.staleness == (0 + 1 + 0 + 1 + 2 + 3 + 4 + 5) / 8
(2, True)
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class History:
    """`useful` counts a run that came early by the part of its period that had passed, so it
    is no more than was asked for; `extra` are updates beyond the period, over all runs; `aged`
    adds up, for each update, how old the last answer was that had been delivered by then."""

    runs: int = 0
    useful: float = 0.0
    extra: int = 0
    aged: int = 0
    first: int | None = None
    last: int | None = None
    ran_us: int = 0
    together: int = 0  # queries in the last run, this one with them
    # The updates at which the first answer and the last one were delivered.
    first_delivery: int | None = None
    last_delivery: int | None = None

    def after(self, update: int, period: int, now_us: int, together: int, at: int) -> History:
        """The history after a run that saw one update, and was delivered at another."""
        gap = period if self.last is None else update - self.last
        return History(
            runs=self.runs + 1,
            useful=self.useful + min(1.0, gap / period),
            extra=self.extra + max(0, gap - period),
            aged=self.aged + self._aged_until(at),
            first=update if self.first is None else self.first,
            last=update,
            ran_us=now_us,
            together=together,
            first_delivery=at if self.first_delivery is None else self.first_delivery,
            last_delivery=at,
        )

    def _aged_until(self, at: int) -> int:
        """The sum of the last answer's ages at each update from its delivery to another."""
        if self.last is None or self.last_delivery is None:
            return 0
        youngest, oldest = self.last_delivery - self.last, at - self.last - 1
        return (youngest + oldest) * (at - self.last_delivery) // 2

    @property
    def achieved(self) -> float | None:
        """Updates between runs, on average."""
        return None if self.runs < 2 else self._span / (self.runs - 1)

    @property
    def staleness(self) -> float:
        """The age of the last answer in updates, on average over all updates from the first
        delivery to the last."""
        if self.first_delivery is None or self.last_delivery is None:
            return 0.0
        return self.aged / max(1, self.last_delivery - self.first_delivery)

    def late(self, update: int, period: int) -> int:
        """Updates beyond the period for which the query has been waiting."""
        return 0 if self.last is None else max(0, update - self.last - period)

    @property
    def extra_between(self) -> float:
        """Updates beyond the period, on average between two runs."""
        return self.extra / max(1, self.runs - 1)

    def metrics(self, period: int) -> dict[str, object]:
        """The figures of the history by name."""
        return {
            "period": period,
            "runs": self.runs,
            "useful": self.useful,
            "achieved": self.achieved,
            "extra": self.extra_between,
            "staleness": self.staleness,
        }

    @property
    def _span(self) -> int:
        return 0 if self.first is None or self.last is None else self.last - self.first
