"""What comes in, as endless or finite iterators of (instant, source, item) in order of time."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable, Iterator

from tidemill.reference.graph.items import GraphItem, punctuation

GraphArrival = tuple[int, str, GraphItem]
SECOND_US = 1_000_000


def poisson(
    source: str, rate_per_s: float, until_us: int, random_source: random.Random, burst: int = 1
) -> Iterator[GraphArrival]:
    """Tuples that know their time of arrival, `burst` of them at once; their values in [0, 1)."""
    now_us = 0.0
    while True:
        now_us += random_source.expovariate(rate_per_s / burst / SECOND_US)
        if now_us >= until_us:
            return
        for _ in range(burst):
            yield int(now_us), source, GraphItem(int(now_us), int(now_us), random_source.random())


def heartbeats(source: str, rate_per_s: float, until_us: int) -> Iterator[GraphArrival]:
    """A punctuation every so often, needed or not."""
    period_us = SECOND_US / rate_per_s
    for k in range(1, int(until_us / period_us) + 1):
        instant_us = int(k * period_us)
        yield instant_us, source, punctuation(instant_us)


def in_turn(*streams: Iterable[GraphArrival]) -> Iterator[GraphArrival]:
    """All of them in order of arrival."""
    return heapq.merge(*streams, key=lambda arrival: arrival[0])
