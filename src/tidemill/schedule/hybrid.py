"""Hybrid scheduling: sub-groups whose periods are shortened to run with others, where it pays.

Golab's thesis merges the sub-groups of a group into blocks, each with its shortest period, and
takes the cheapest such partition. Where joint cost is that of the longest query, some cheapest
one has blocks of neighbours in order of period, so only those are looked at: all of them while
there are few sub-groups, else neighbours are merged as long as that saves most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise

from tidemill.schedule.rates import joint_price, rate, rate_of
from tidemill.schedule.soft import JointCost, Task, merged

# With so many sub-groups there are 1,024 partitions of neighbours.
MOST_ENUMERATED = 11

Partition = tuple[Task, ...]


def blocks(tasks: Sequence[Task], cost: JointCost) -> Partition:
    """The sub-groups of one group as the cheapest blocks found; ties go to fewer blocks."""
    ordered = sorted(tasks, key=lambda task: task.period)
    if len(ordered) <= MOST_ENUMERATED:
        return min(_partitions(ordered), key=lambda found: (rate(found, cost), len(found)))
    return _greedy(tuple(ordered), cost)


def freely_shortened(tasks: Partition, cost: JointCost) -> Partition:
    """Blocks whose periods are shortened further, to any length, while that saves anything.

    No part of the thesis: it can do better than blocks alone, since a period may come to
    divide another one.
    """
    # The sets that may run together stay the same, so each is priced once.
    price = cache(joint_price(tasks, cost))
    best = [task.period for task in tasks]
    least, is_better = rate_of(best, price), True
    while is_better:
        is_better = False
        for found in _one_shorter(best):
            if (rated := rate_of(found, price)) < least * (1 - 1e-12):
                best, least, is_better = found, rated, True
    return tuple(replace(task, period=period) for task, period in zip(tasks, best, strict=True))


def _partitions(tasks: Sequence[Task]) -> Iterator[Partition]:
    """All ways to part them into runs of neighbours."""
    between = range(1, len(tasks))
    for count in range(len(tasks)):
        for cuts in combinations(between, count):
            bounds = (0, *cuts, len(tasks))
            yield tuple(merged(tasks[low:high]) for low, high in pairwise(bounds))


def _greedy(tasks: Partition, cost: JointCost) -> Partition:
    """Neighbours merged one pair at a time, the pair that saves most first."""
    best, least = tasks, rate(tasks, cost)
    while len(best) > 1:
        tried = [_merged_at(best, place) for place in range(len(best) - 1)]
        rates = [rate(found, cost) for found in tried]
        if min(rates) > least:
            break
        least = min(rates)
        best = tried[rates.index(least)]
    return best


def _merged_at(tasks: Partition, place: int) -> Partition:
    return (*tasks[:place], merged(tasks[place : place + 2]), *tasks[place + 2 :])


def _one_shorter(periods: list[int]) -> Iterator[list[int]]:
    for place, longest in enumerate(periods):
        for period in range(1, longest):
            yield [*periods[:place], period, *periods[place + 1 :]]
