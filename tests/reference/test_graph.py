"""The tuple engine: closed forms, and what no rule, break or way of promises may change."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidemill.reference.graph.arrivals import GraphArrival, heartbeats, in_turn, poisson
from tidemill.reference.graph.buffers import Buffer
from tidemill.reference.graph.engine import GraphEngine
from tidemill.reference.graph.items import GraphItem
from tidemill.reference.graph.operators import (
    GraphFilter,
    LatentUnion,
    Operator,
    OrderedUnion,
    SlideAggregate,
)
from tidemill.reference.graph.plan import GraphNode, QueryGraph
from tidemill.reference.graph.rules import RULES, swap, with_break

Output = tuple[str, int, object]


def path(costs_us: Sequence[int]) -> QueryGraph:
    names = [f"o{k}" for k in range(len(costs_us))]
    reads = ["s", *names]
    return QueryGraph(
        ["s"],
        [
            GraphNode(name, GraphFilter(cost_us=cost_us), (before,))
            for name, cost_us, before in zip(names, costs_us, reads, strict=False)
        ],
    )


def two_streams(union: Operator, share: float = 0.95) -> QueryGraph:
    """The query of the papers: two streams, each filtered, and their union."""

    def passes(value: float) -> bool:
        return value < share

    return QueryGraph(
        ["a", "b"],
        [
            GraphNode("of_a", GraphFilter(passes), ("a",)),
            GraphNode("of_b", GraphFilter(passes), ("b",)),
            GraphNode("union", union, ("of_a", "of_b")),
        ],
    )


def forked(cost_us: int = 0) -> QueryGraph:
    """Two unions and a slide aggregate, with filters between, one source read by two."""
    return QueryGraph(
        ["a", "b", "c"],
        [
            GraphNode("of_a", GraphFilter(lambda value: value < 0.8, cost_us), ("a",)),
            GraphNode("low", OrderedUnion(cost_us), ("of_a", "b")),
            GraphNode("thin", GraphFilter(lambda value: value < 0.5, cost_us), ("low",)),
            GraphNode("slides", SlideAggregate(700, 300, cost_us), ("thin",)),
            GraphNode("of_c", GraphFilter(lambda value: value < 0.9, cost_us), ("c",)),
            GraphNode("high", OrderedUnion(cost_us), ("low", "of_c", "slides")),
            GraphNode("end", GraphFilter(cost_us=cost_us), ("high",)),
            GraphNode("side", GraphFilter(lambda value: value < 0.3, cost_us), ("of_a",)),
        ],
    )


def outputs_of(
    graph: QueryGraph,
    arrivals: Iterable[GraphArrival],
    rule: str = "dfs",
    way: str | None = None,
    change: Callable[[GraphEngine], None] = lambda _: None,
) -> tuple[list[Output], GraphEngine]:
    outputs: list[Output] = []
    engine = GraphEngine(
        graph,
        graph.table(rule),
        way,
        lambda name, item, _: outputs.append((name, item.time_us, item.value)),
    )
    engine.on_step = lambda: change(engine)
    engine.run(arrivals)
    return outputs, engine


@pytest.mark.parametrize("n", [1, 2, 7, 100])
@pytest.mark.parametrize(
    ("rule", "latency"), [("dfs", lambda n: n + 1), ("bfs", lambda n: 1.5 * n + 0.5)]
)
def test_a_burst_waits_as_the_closed_form_says(n: int, rule: str, latency):
    waits: list[int] = []
    graph = path([40, 40])
    burst = [(5, "s", GraphItem(5, 5, k)) for k in range(n)]
    engine = GraphEngine(
        graph, graph.table(rule), None, lambda _, item, now: waits.append(now - item.arrived_us)
    )
    engine.run(burst)
    assert sum(waits) / len(waits) == latency(n) * 40


@pytest.mark.parametrize("rule", RULES)
def test_a_union_gives_what_the_least_register_allows(rule: str):
    """At rest, exactly the tuples up to the least of the newest times are out, in order."""
    times = {"a": [1, 4, 4, 9, 12], "b": [2, 4, 7, 7]}
    arrivals = [
        (time, name, GraphItem(time, time, 0.0)) for name, at in times.items() for time in at
    ]
    outputs, engine = outputs_of(
        two_streams(OrderedUnion()), sorted(arrivals, key=itemgetter(0)), rule
    )
    out = [time for _, time, _ in outputs]
    assert out == [1, 2, 4, 4, 4, 7, 7]
    assert engine.graph.held_items() == 2  # 9 and 12 wait for the other stream


def test_without_promises_tuples_wait_for_the_sparse_stream_and_on_demand_for_nothing():
    def mean_wait_us(way: str | None, rate: float) -> float:
        waits: list[int] = []
        graph = two_streams(OrderedUnion())
        until_us, chance = 400_000_000, random.Random(3)
        streams = [
            poisson("a", 20, until_us, chance),
            poisson("b", 0.5, until_us, random.Random(4)),
        ]
        beats = [heartbeats("b", rate, until_us)] if rate else []
        engine = GraphEngine(
            graph, graph.table("dfs"), way, lambda _, item, now: waits.append(now - item.arrived_us)
        )
        engine.run(in_turn(*streams, *beats))
        assert len(waits) > 7_000
        return sum(waits) / len(waits)

    assert mean_wait_us(None, 0) == pytest.approx(1e6 / (0.95 * 0.5), rel=0.2)
    assert mean_wait_us(None, 10) == pytest.approx(50_000, rel=0.05)
    assert mean_wait_us("punctuation", 0) == mean_wait_us("arcs", 0) == 0


SOURCES = st.sampled_from(["a", "b", "c"])
ARRIVALS = st.lists(st.tuples(st.integers(0, 90), SOURCES, st.floats(0, 0.99)), max_size=60)


def stream_of(rows: list[tuple[int, str, float]]) -> list[GraphArrival]:
    """Arrivals with distinct times, so that order is decided, and an end that lets all out."""
    instants = itertools.accumulate(gap_us + 1 for gap_us, _, _ in rows)
    arrivals = [
        (now_us, name, GraphItem(now_us, now_us, value))
        for now_us, (_, name, value) in zip(instants, rows, strict=True)
    ]
    end_us = (arrivals[-1][0] if arrivals else 0) // 300 * 300 + 1801
    return [*arrivals, *((end_us, name, GraphItem(end_us, end_us, 0.95)) for name in "abc")]


def by_sink(outputs: list[Output], until_us: int) -> dict[str, list[Output]]:
    """Outputs of each sink, in order, before the rows that end the stream."""
    return {
        sink: [output for output in outputs if output[0] == sink and output[1] < until_us]
        for sink in ("end", "side")
    }


@settings(max_examples=25)
@given(ARRIVALS, st.sampled_from([0, 3]), st.integers(0, 999))
def test_no_rule_break_or_way_of_promises_changes_what_comes_out(rows, cost_us, seed):
    arrivals = stream_of(rows)
    end_us, chance = arrivals[-1][0], random.Random(seed)

    def anything(engine: GraphEngine) -> None:
        """Another rule now and then, and a break node, across which nobody asks for promises."""
        if chance.random() < 0.3:
            name = chance.choice(list(engine.table))
            engine.table = swap(engine.table, chance.choice(list(RULES)), name)
        if engine.way is None and chance.random() < 0.05:
            engine.table = with_break(engine.table, "low", "thin")

    expected = by_sink(outputs_of(forked(), arrivals, way="arcs")[0], end_us)
    for rule, way in itertools.product(RULES, (None, "punctuation", "arcs")):
        for change in (lambda _: None, anything):
            raw, _ = outputs_of(forked(cost_us), arrivals, rule, way, change)
            outputs = by_sink(raw, end_us)
            assert outputs["side"] == expected["side"]
            times = [time for _, time, _ in outputs["end"]]
            assert times == sorted(times)
            # Silent slides hold up what nobody promises; what does come out is the same.
            missing = Counter(expected["end"]) - Counter(outputs["end"])
            assert Counter(outputs["end"]) <= Counter(expected["end"])
            assert way is None or not missing


@given(ARRIVALS)
def test_slides_are_counted_as_by_hand(rows):
    arrivals = [(now, "s", item) for now, _, item in stream_of(rows)[:-2]]
    times = [item.time_us for _, _, item in arrivals]
    graph = QueryGraph(["s"], [GraphNode("slides", SlideAggregate(700, 300), ("s",))])
    outputs, _ = outputs_of(graph, arrivals)
    ends = range(0, times[-1] + 1, 300)
    counts = [(end, sum(end - 700 <= time < end for time in times)) for end in ends]
    assert [(time, value) for _, time, value in outputs] == [row for row in counts if row[1]]


@given(st.lists(st.integers(0, 2), max_size=40))
def test_each_branch_of_a_fork_sees_every_item_once_in_order(moves):
    buffer, count = Buffer(readers=2), 0
    passed: tuple[list[int], list[int]] = ([], [])
    for move in moves:
        if move == 2:
            buffer.append(count)
            count += 1
        elif buffer.head(move) is not None:
            passed[move].append(buffer.take(move))
        assert len(buffer) == count - min(map(len, passed))
    assert all(branch == list(range(len(branch))) for branch in passed)


def test_a_latent_union_never_waits():
    arrivals = [(time, "a", GraphItem(time, time, 0.0)) for time in range(5)]
    outputs, engine = outputs_of(two_streams(LatentUnion()), arrivals)
    assert len(outputs) == 5
    assert engine.held_up_us == {}


def test_a_promise_on_demand_skips_the_operators_between():
    """The same tuples leave, and no punctuation goes through the filters."""
    arrivals = stream_of([(50, "a", 0.1)] * 40 + [(500, "c", 0.2)] * 3)
    by_items, first = outputs_of(forked(), arrivals, way="punctuation")
    by_arcs, second = outputs_of(forked(), arrivals, way="arcs")
    for sink, count in (("end", 43), ("side", 40)):
        rows = [[row for row in rows if row[0] == sink] for rows in (by_items, by_arcs)]
        assert rows[0] == rows[1]
        assert len(rows[0]) >= count
    assert second.steps < first.steps


def test_unknown_rules_and_ways_are_refused():
    graph = path([0])
    with pytest.raises(ValueError, match="no rule lifo; there are dfs, bfs, rr"):
        graph.table("lifo")
    with pytest.raises(ValueError, match="no way mail"):
        GraphEngine(graph, graph.table("dfs"), "mail", lambda *_: None)
