"""Figures by difference: the same work in two sizes, so that what is fixed drops out.

>>> ticks = iter(range(1000))
>>> watch = Watch(clock=lambda: float(next(ticks)), rounds=1)
>>> watch.each_ns(Job(lambda: None, 1), Job(lambda: [next(ticks) for _ in range(4)], 5))
1000000000.0
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Action = Callable[[], object]
# Times differ by chance too: a figure is never nothing, nor less.
LEAST_NS = 0.1


@dataclass(frozen=True)
class Job:
    """Some work, and how many of what is counted it does."""

    work: Action
    count: float


@dataclass(frozen=True)
class Watch:
    """Measures seconds of processor, since others may use the machine."""

    clock: Callable[[], float] = time.process_time
    rounds: int = 7

    def each_ns(self, fewer: Job, more: Job) -> float:
        """Nanoseconds for each one that `more` has beyond `fewer`.

        Both are done once to warm up and then in turns, and the least time of each counts:
        whatever else goes on can only add to it.
        """
        self._seconds(fewer.work), self._seconds(more.work)
        rounds = [(self._seconds(fewer.work), self._seconds(more.work)) for _ in range(self.rounds)]
        least = min(few for few, _ in rounds)
        most = min(many for _, many in rounds)
        return max(LEAST_NS, (most - least) * 1e9 / (more.count - fewer.count))

    def _seconds(self, work: Action) -> float:
        started = self.clock()
        work()
        return self.clock() - started
