"""The cost of a set of tasks per update, when tasks that are due together run together.

>>> from tidemill.schedule.soft import Soft
>>> nine, fourteen = (Task("g", p, (Soft(f"q{p}", "g", p),)) for p in (2, 3))
>>> longest = lambda queries: max({2: 9, 3: 14}[query.period] for query in queries)
>>> together = Task("g", 2, (*nine.members, *fourteen.members))
>>> round(cost_of_update([nine, fourteen], longest), 2), cost_of_update([together], longest)
(7.67, 7.0)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from tidemill.arrays import BoolArray
from tidemill.schedule.soft import JointCost, Task

# Updates looked at: all of them up to the time when everything is due at once again, or, where
# that is far away, so many: eight times as many chose the same blocks of thirty queries. Even
# the longest period is seen a few times.
MOST_UPDATES, LEAST_PERIODS = 2**9, 4


def cost_of_update(tasks: Sequence[Task], cost: JointCost) -> float:
    """The mean cost of an update, of tasks that all begin with the same one."""
    return Rates(cost).of(tasks)


class Rates:
    """Rates of many partitions of the same queries, of which most sets come again and again.

    A set that runs together is known by the sum of its queries' numbers, 64 bits of a hash:
    that two sets have the same is less likely than that the machine errs.
    """

    def __init__(self, cost: JointCost) -> None:
        self._cost = cost
        self._known = {0: 0.0}

    def of(self, tasks: Sequence[Task]) -> float:
        updates = _updates([task.period for task in tasks])
        due = np.array([_due(task.period, updates) for task in tasks])
        numbers = np.array([_number(task) for task in tasks], np.uint64)
        sets: list[int] = np.where(due, numbers[:, np.newaxis], 0).sum(axis=0).tolist()
        for place, key in enumerate(sets):
            if key not in self._known:
                self._known[key] = self._cost_at(tasks, due[:, place])
        return sum(map(self._known.__getitem__, sets)) / updates

    def _cost_at(self, tasks: Sequence[Task], due: BoolArray) -> float:
        together = (task for task, is_due in zip(tasks, due.tolist(), strict=True) if is_due)
        return self._cost([member for task in together for member in task.members])


def _updates(periods: Sequence[int]) -> int:
    return min(math.lcm(*periods), max(MOST_UPDATES, LEAST_PERIODS * max(periods)))


@lru_cache(4096)
def _due(period: int, updates: int) -> BoolArray:
    due: BoolArray = np.arange(1, updates + 1) % period == 0
    return due


def _number(task: Task) -> int:
    return sum(_hashed(member.name) for member in task.members) % 2**64


@lru_cache(65536)
def _hashed(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest())
