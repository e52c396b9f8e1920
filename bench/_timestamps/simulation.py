"""Runs of the papers' graphs on the tuple engine of `tidemill.reference.graph`."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidemill.reference.graph.arrivals import SECOND_US, GraphArrival, heartbeats, in_turn, poisson
from tidemill.reference.graph.engine import GraphEngine
from tidemill.reference.graph.items import GraphItem
from tidemill.reference.graph.operators import (
    GraphFilter,
    Operator,
    OrderedUnion,
    SlideAggregate,
)
from tidemill.reference.graph.plan import GraphNode, QueryGraph

SHARE = 0.95  # of the tuples passes each filter
BIN_US = 20_000  # burstiness counts what leaves in so long a time


@dataclass(frozen=True)
class Measures:
    """What one run showed; times in seconds."""

    tuples: int
    latency_s: float
    waiting_share: float  # of the time, the union held tuples that it might not let go
    peak_items: int
    burstiness: float  # (most − fewest) / mean of the tuples that left in 20 ms
    steps: int


def measure(
    graph: QueryGraph, arrivals: Iterable[GraphArrival], rule: str = "dfs", way: str | None = None
) -> Measures:
    waits_us = tuples = 0
    bins: Counter[int] = Counter()

    def deliver(_: str, item: GraphItem, now_us: int) -> None:
        nonlocal waits_us, tuples
        waits_us += now_us - item.arrived_us
        tuples += 1
        bins[now_us // BIN_US] += 1

    engine = GraphEngine(graph, graph.table(rule), way, deliver)
    engine.run(arrivals)
    counts = [bins[k] for k in range(min(bins), max(bins) + 1)]
    return Measures(
        tuples,
        waits_us / tuples / SECOND_US,
        max(engine.held_up_us.values(), default=0) / engine.now_us,
        engine.peak_items,
        (max(counts) - min(counts)) * len(counts) / tuples,
        engine.steps,
    )


def pair(union: Operator, cost_us: int = 0, filters: int = 1) -> QueryGraph:
    """Two streams, each filtered, and their union: the query of most of the experiments."""
    nodes = [
        GraphNode(f"{source}{k}", _filter(k, cost_us), (f"{source}{k - 1}" if k else source,))
        for source in "ab"
        for k in range(filters)
    ]
    last = filters - 1
    return QueryGraph(["a", "b"], [*nodes, GraphNode("union", union, (f"a{last}", f"b{last}"))])


def _filter(place: int, cost_us: int) -> GraphFilter:
    return GraphFilter((lambda value: value < SHARE) if place == 0 else _all, cost_us)


def _all(_: object) -> bool:
    return True


def chain(filters: int, cost_us: int) -> QueryGraph:
    """Two unions and a slide aggregate, with so many filters on every way between them."""

    def way(name: str, origin: str) -> Iterator[GraphNode]:
        for k in range(filters):
            yield GraphNode(
                f"{name}{k}", GraphFilter(_all, cost_us), (f"{name}{k - 1}" if k else origin,)
            )

    def end(name: str, origin: str) -> str:
        return f"{name}{filters - 1}" if filters else origin

    return QueryGraph(
        ["a", "b", "c"],
        [
            *way("a", "a"),
            *way("b", "b"),
            GraphNode("low", OrderedUnion(cost_us), (end("a", "a"), end("b", "b"))),
            *way("of_low", "low"),
            GraphNode("slides", SlideAggregate(200_000, 100_000, cost_us), (end("of_low", "low"),)),
            *way("c", "c"),
            GraphNode("high", OrderedUnion(cost_us), ("slides", end("c", "c"))),
        ],
    )


def slides(slide_us: int, cost_us: int = 0) -> QueryGraph:
    """A stream's counts by slide, in order with the tuples of a second stream."""
    return QueryGraph(
        ["a", "b"],
        [
            GraphNode("slides", SlideAggregate(slide_us, slide_us, cost_us), ("a",)),
            GraphNode("union", OrderedUnion(cost_us), ("slides", "b")),
        ],
    )


def loads(fast: float, sparse: float, until_us: int, beats: float = 0.0) -> Iterator[GraphArrival]:
    """A fast stream and a sparse one, which beats as often as asked, whether that is needed."""
    streams = [
        poisson("a", fast, until_us, random.Random(11)),
        even_poisson("b", sparse, until_us, random.Random(12)),
        *([heartbeats("b", beats, until_us)] if beats else []),
    ]
    return in_turn(*streams)


def even_poisson(
    source: str, rate_per_s: float, until_us: int, chance: random.Random
) -> Iterator[GraphArrival]:
    """As `poisson`, but its gaps are all quantiles of their distribution, in random order.

    The mean wait goes by the square of the gaps; drawn freely, some hundred of them would leave
    it a tenth off.
    """
    count = max(1, round(until_us / SECOND_US * rate_per_s))
    gaps_us = [-math.log(1 - (k + 0.5) / count) / rate_per_s * SECOND_US for k in range(count)]
    chance.shuffle(gaps_us)
    now_us = 0.0
    for gap_us in gaps_us:
        now_us += gap_us
        if now_us < until_us:
            yield int(now_us), source, GraphItem(int(now_us), int(now_us), chance.random())
