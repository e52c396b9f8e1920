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
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tidemill.schedule.soft import JointCost, Task

# Updates looked at: all of them up to the time when everything is due at once again, or, where
# that is far away, so many: sixteen times as many chose the same blocks of thirty queries.
MOST_UPDATES = 2**12
# So many tasks are told apart by the bits of one number before numbers are given anew.
BITS = 32


Places = tuple[int, ...]


def rate(tasks: Sequence[Task], cost: JointCost) -> float:
    """The mean cost of an update, of tasks that all begin with the same one."""
    return rate_of([task.period for task in tasks], joint_price(tasks, cost))


def joint_price(tasks: Sequence[Task], cost: JointCost) -> Callable[[Places], float]:
    """What it costs to run those of the tasks that stand at some places together."""

    def price(places: Places) -> float:
        return cost([member for place in places for member in tasks[place].members])

    return price


def rate_of(periods: Sequence[int], price: Callable[[Places], float]) -> float:
    """The mean cost of an update, where only periods and the price of each set are known."""
    updates = min(math.lcm(*periods), MOST_UPDATES)
    return sum(times * price(due) for due, times in _coincidences(periods, updates)) / updates


def _coincidences(periods: Sequence[int], updates: int) -> Iterator[tuple[Places, int]]:
    """Every set of places that is due at once, and how often in so many updates."""
    at = np.arange(1, updates + 1)
    due = np.array([at % period == 0 for period in periods])
    _, first, times = np.unique(_signatures(due), return_index=True, return_counts=True)
    for together, count in zip(due[:, first].T, times.tolist(), strict=True):
        if places := tuple(np.flatnonzero(together).tolist()):
            yield places, count


def _signatures(due: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Columns are given the same number where they are the same."""
    found = np.zeros(due.shape[1], np.int64)
    for number, row in enumerate(due):
        if number and number % BITS == 0:
            found = np.unique(found, return_inverse=True)[1]
        found = 2 * found + row
    return found
