"""Hybrid scheduling: sub-groups whose periods are shortened to run with others, where it pays.

Golab's thesis merges the sub-groups of a group into blocks, each with its shortest period, and
takes the cheapest such partition. Where joint cost is that of the longest query, some cheapest
one has blocks of neighbours in order of period, so only those are looked at: all of them while
there are few sub-groups, else neighbours are merged as long as that saves most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from tidemill.schedule.rates import Rates
from tidemill.schedule.soft import JointCost, Task, merge_tasks

# With so many sub-groups there are 256 partitions of neighbours.
MOST_ENUMERATED = 9

Partition = tuple[Task, ...]


def hybrid_blocks(tasks: Sequence[Task], cost: JointCost) -> Partition:
    """The sub-groups of one group as the cheapest blocks; of equals, the fewest blocks."""
    ordered = sorted(tasks, key=lambda task: task.period)
    if len(ordered) <= MOST_ENUMERATED:
        rates = Rates(cost)
        return min(
            _partitions(ordered), key=lambda partition: (rates.of(partition), len(partition))
        )
    return _greedy(tuple(ordered), cost)


def freely_shortened(tasks: Partition, cost: JointCost) -> Partition:
    """Blocks whose periods are shortened further, to any length, while that saves anything.

    No part of the thesis: it can do better than blocks alone, since a period may come to
    divide another one.
    """
    rates = Rates(cost)
    best, least = tasks, rates.of(tasks)
    is_better = True
    while is_better:
        is_better = False
        for shorter in _one_shorter(best):
            if (price := rates.of(shorter)) < least * (1 - 1e-12):
                best, least, is_better = shorter, price, True
    return best


def _partitions(tasks: Sequence[Task]) -> Iterator[Partition]:
    """All ways to part them into runs of neighbours."""
    between = range(1, len(tasks))
    for count in range(len(tasks)):
        for cuts in combinations(between, count):
            bounds = (0, *cuts, len(tasks))
            yield tuple(merge_tasks(tasks[low:high]) for low, high in pairwise(bounds))


def _greedy(tasks: Partition, cost: JointCost) -> Partition:
    """Neighbours merged one pair at a time, the pair that saves most first."""
    rates = Rates(cost)
    best, least = tasks, rates.of(tasks)
    while len(best) > 1:
        tried = [_merged_at(best, place) for place in range(len(best) - 1)]
        prices = list(map(rates.of, tried))
        if min(prices) > least:
            break
        least = min(prices)
        best = tried[prices.index(least)]
    return best


def _merged_at(tasks: Partition, place: int) -> Partition:
    return (*tasks[:place], merge_tasks(tasks[place : place + 2]), *tasks[place + 2 :])


def _one_shorter(tasks: Partition) -> Iterator[Partition]:
    for place, task in enumerate(tasks):
        for period in range(1, task.period):
            yield (*tasks[:place], replace(task, period=period), *tasks[place + 1 :])
