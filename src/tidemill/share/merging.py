"""Greedy merging: of all pairs the one that saves most, again and again, until none does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def merge_greedily(
    parts: Sequence[T],
    cost: Callable[[T], float],
    merge: Callable[[T, T], T | None],
) -> tuple[T, ...]:
    """Parts merged while that makes the sum of their costs less; None cannot be merged.

    Ties go to the pair that comes first, so the result depends on nothing else.

    >>> merge_greedily([1, 2, 30], lambda n: 10 + n * n / 10, lambda a, b: a + b)
    (3, 30)
    """
    left: list[T | None] = list(parts)
    costs = [cost(part) for part in parts]
    offers: dict[tuple[int, int], tuple[float, T]] = {}

    def offer(i: int, j: int) -> None:
        first, second = left[i], left[j]
        if first is None or second is None or (both := merge(first, second)) is None:
            return
        saving = costs[i] + costs[j] - cost(both)
        if saving > 0:
            offers[i, j] = (saving, both)

    for j in range(len(left)):
        for i in range(j):
            offer(i, j)
    while offers:
        (i, j), (_, both) = max(
            offers.items(), key=lambda item: (item[1][0], -item[0][0], -item[0][1])
        )
        left[i], left[j], costs[i] = both, None, cost(both)
        offers = {pair: found for pair, found in offers.items() if not {i, j} & set(pair)}
        for other in range(len(left)):
            if other != i:
                offer(min(i, other), max(i, other))
    return tuple(part for part in left if part is not None)
