"""Greedy merging: of all pairs the one that saves most, again and again, until none does."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


def merge_greedily(
    parts: Sequence[T],
    cost: Callable[[T], float],
    merge: Callable[[T, T], T | None],
    least: Callable[[T, T], float] | None = None,
) -> tuple[T, ...]:
    """Parts merged while that makes the sum of their costs less; None cannot be merged.

    Ties go to the pair that comes first, so the result depends on nothing else. `least` is what
    a pair costs at least: where that is quickly told, few pairs have to be worked out.

    >>> merge_greedily([1, 2, 30], lambda n: 10 + n * n / 10, lambda a, b: a + b)
    (3, 30)
    >>> merge_greedily([1, 2, 30], lambda n: 10 + n * n / 10, lambda a, b: a + b, max)
    (3, 30)
    """
    return _Merging(parts, cost, merge, least).run()


class _Merging(Generic[T]):
    """Offers in a heap, the greatest saving first: hoped for, until the pair is worked out."""

    def __init__(
        self,
        parts: Sequence[T],
        cost: Callable[[T], float],
        merge: Callable[[T, T], T | None],
        least: Callable[[T, T], float] | None,
    ) -> None:
        self._cost, self._merge, self._least = cost, merge, least
        self._left: dict[int, T] = dict(enumerate(parts))
        self._costs = {place: cost(part) for place, part in self._left.items()}
        self._merges = dict.fromkeys(self._left, 0)  # how often a place has changed
        self._hoped: list[tuple[float, int, int, int]] = []
        self._worked_out: dict[tuple[int, int, int], T] = {}
        for second in self._left:
            for first in range(second):
                self._hope(first, second)

    def run(self) -> tuple[T, ...]:
        while self._hoped:
            _, first, second, age = heapq.heappop(self._hoped)
            if not self._stands(first, second, age):
                continue
            if (merged := self._worked_out.get((first, second, age))) is None:
                self._work_out(first, second, age)
            else:
                self._take(first, second, merged)
        return tuple(self._left.values())

    def _stands(self, first: int, second: int, age: int) -> bool:
        both_left = first in self._left and second in self._left
        return both_left and age == self._merges[first] + self._merges[second]

    def _hope(self, first: int, second: int) -> None:
        age = self._merges[first] + self._merges[second]
        if self._least is None:
            self._work_out(first, second, age)
        else:
            self._offer(first, second, age, self._least(self._left[first], self._left[second]))

    def _work_out(self, first: int, second: int, age: int) -> None:
        merged = self._merge(self._left[first], self._left[second])
        if merged is not None and self._offer(first, second, age, self._cost(merged)):
            self._worked_out[first, second, age] = merged

    def _offer(self, first: int, second: int, age: int, together: float) -> bool:
        saving = self._costs[first] + self._costs[second] - together
        if saving > 0:
            heapq.heappush(self._hoped, (-saving, first, second, age))
        return saving > 0

    def _take(self, first: int, second: int, merged: T) -> None:
        del self._left[second]
        self._left[first], self._costs[first] = merged, self._cost(merged)
        self._merges[first] += 1
        for other in self._left:
            if other != first:
                self._hope(min(first, other), max(first, other))
