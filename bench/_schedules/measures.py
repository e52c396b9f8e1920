"""The measures of a run: executions, answers that came late, and how old answers are."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from tidemill.schedule.soft import Soft


@dataclass(frozen=True)
class Measures:
    """Of one policy under one load; executions are of queries, however many ran together."""

    executions_per_s: float
    useful_per_s: float  # no more of a query than it asks for
    latency: float  # updates beyond the period, in the mean of all executions; early is 0
    staleness_s: float  # age of the newest answer, in the mean of queries and time
    response_s: float  # of one-time queries


@dataclass
class _Query:
    """One query on its way; what it saw last, and sums over the time that is measured."""

    period: int
    seen: int = 0
    answered_s: float = 0.0
    executions: int = 0
    late: list[int] = field(default_factory=list)
    age_s2: float = 0.0


class Followed:
    """Told what ran, it keeps the sums."""

    def __init__(self, queries: Sequence[Soft], from_s: float, until_s: float) -> None:
        self._from_s, self._until_s = from_s, until_s
        self._queries = {query.name: _Query(query.period) for query in queries}
        self._responses: list[float] = []

    def ran(self, members: Sequence[Soft], update: int, now_s: float) -> None:
        """An answer counts from when it is there, and shows the update at which its run began."""
        for member in members:
            query = self._queries[member.name]
            self._aged(query, now_s)
            if self._from_s <= now_s < self._until_s:
                query.executions += 1
                query.late.append(max(0, int(now_s) - query.seen - query.period))
            query.seen, query.answered_s = update, now_s

    def answered(self, asked_s: float, now_s: float) -> None:
        if self._from_s <= now_s < self._until_s:
            self._responses.append(now_s - asked_s)

    def measures(self) -> Measures:
        """Whoever still waits at the end is late by as much as it is by then."""
        seconds = self._until_s - self._from_s
        for query in self._queries.values():
            self._aged(query, self._until_s)
            waits = int(self._until_s) - query.seen - query.period
            query.late += [waits] if waits > 0 else []
        every = list(self._queries.values())
        useful = [min(query.executions / seconds, 1 / query.period) for query in every]
        late = [updates for query in every for updates in query.late]
        return Measures(
            sum(query.executions for query in every) / seconds,
            sum(useful),
            statistics.fmean(late) if late else 0.0,
            statistics.fmean(query.age_s2 for query in every) / seconds,
            statistics.fmean(self._responses) if self._responses else float("nan"),
        )

    def _aged(self, query: _Query, now_s: float) -> None:
        """The answer in hand grew older until now; its age is summed over the measured time."""
        low = max(query.answered_s, self._from_s)
        high = min(now_s, self._until_s)
        if low < high:
            query.age_s2 += ((high - query.seen) ** 2 - (low - query.seen) ** 2) / 2
