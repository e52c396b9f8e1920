"""What a set of tasks costs for each update, when tasks that are due together run together.

>>> from tidemill.schedule.soft import Soft
>>> nine, fourteen = (Task("g", p, (Soft(f"q{p}", "g", p),)) for p in (2, 3))
>>> longest = lambda queries: max({2: 9, 3: 14}[query.period] for query in queries)
>>> together = Task("g", 2, (*nine.members, *fourteen.members))
>>> round(rate([nine, fourteen], longest), 2), rate([together], longest)
(7.67, 7.0)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tidemill.schedule.soft import JointCost, Task

# Updates looked at: all of them up to the time when everything is due at once again, or, where
# that is far away, so many: sixteen times as many chose the same blocks of thirty queries.
MOST_UPDATES = 2**12
# So many tasks are told apart by the bits of one number before numbers are given anew.
BITS = 32


def rate(tasks: Sequence[Task], cost: JointCost) -> float:
    """The mean cost of an update, of tasks that all begin with the same one."""
    updates = min(math.lcm(*(task.period for task in tasks)), MOST_UPDATES)
    total = sum(
        times * cost([member for task in due for member in task.members])
        for due, times in _coincidences(tasks, updates)
    )
    return total / updates


def _coincidences(tasks: Sequence[Task], updates: int) -> Iterator[tuple[list[Task], int]]:
    """Every set of tasks that is due at once, and how often in so many updates."""
    at = np.arange(1, updates + 1)
    due = np.array([at % task.period == 0 for task in tasks])
    _, first, times = np.unique(_signatures(due), return_index=True, return_counts=True)
    for place, count in zip(first.tolist(), times.tolist(), strict=True):
        together = [tasks[number] for number in np.flatnonzero(due[:, place]).tolist()]
        if together:
            yield together, count


def _signatures(due: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Columns are given the same number where they are the same."""
    found = np.zeros(due.shape[1], np.int64)
    for low in range(0, len(due), BITS):
        for row in due[low : low + BITS]:
            found = 2 * found + row
        found = np.unique(found, return_inverse=True)[1]
    return found
