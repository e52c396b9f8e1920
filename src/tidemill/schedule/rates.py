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

from tidemill.schedule.soft import JointCost, Task

# Updates looked at: all of them up to the time when everything is due at once again, or, where
# that is far away, so many; what is left out then weighs less than a thousandth.
MOST_UPDATES = 2**16


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
    packed = np.packbits(due, axis=0)
    _, first, times = np.unique(packed, axis=1, return_index=True, return_counts=True)
    for place, count in zip(first.tolist(), times.tolist(), strict=True):
        together = [task for task, is_due in zip(tasks, due[:, place], strict=True) if is_due]
        if together:
            yield together, count
