"""The other ways to a plan, and the study of averages."""

from __future__ import annotations

from fractions import Fraction

import pytest
from _weave.averages import Aggregated, average_costs
from _weave.local_search import local_search
from _weave.rivals import exhaustive, insert_then_weave, random_plan
from hypothesis import given
from hypothesis import strategies as st

from tests.share.weave.words import operations, rates, seconds, window_lists, workload
from tidemill.share.weave import Processing, Workload, alone, cost_of_plan, everything

TREES = Processing.TREES


def in_order(groups):
    return sorted(member for group in groups for member in group)


def set_partitions(members):
    """All of them, the plain way."""
    if not members:
        yield []
        return
    first, rest = members[0], members[1:]
    for smaller in set_partitions(rest):
        yield [[first], *smaller]
        for place in range(len(smaller)):
            yield [*smaller[:place], [first, *smaller[place]], *smaller[place + 1 :]]


@given(window_lists(1, 5), rates)
def test_trying_all_finds_what_trying_them_one_by_one_does(specs, rows):
    load, model = Workload.of(specs), operations(rows)
    costs = [
        cost_of_plan(load, tuple(map(tuple, groups)), TREES, model)
        for groups in set_partitions(list(range(len(specs))))
    ]
    found, units = exhaustive(load, TREES, model)
    assert units / load.timeline.seconds == cost_of_plan(load, found, TREES, model) == min(costs)


def test_too_many_windows_are_not_tried():
    with pytest.raises(ValueError, match="too many"):
        exhaustive(Workload.of([seconds(2, 1)] * 13), TREES, operations(1))


@given(st.integers(1, 40), st.integers(0, 5))
def test_a_random_plan_holds_every_window_once(count, seed):
    groups = random_plan(count, seed)
    assert in_order(groups) == list(range(count))
    assert all(groups)
    assert groups == random_plan(count, seed)


@given(window_lists(1, 7), rates, st.booleans())
def test_local_search_ends_where_no_single_move_pays(specs, rows, together):
    load, model, count = Workload.of(specs), operations(rows), len(specs)
    start = everything(count) if together else alone(count)
    groups, steps = local_search(load, TREES, model, start, 100)
    assert steps < 100
    cost = cost_of_plan(load, groups, TREES, model)
    assert cost <= cost_of_plan(load, start, TREES, model)
    for member in range(count):
        rest = [tuple(m for m in group if m != member) for group in groups]
        for place in range(len(rest) + 1):
            moved = [g + (member,) * (n == place) for n, g in enumerate([*rest, ()])]
            kept = tuple(group for group in moved if group)
            assert float(cost_of_plan(load, kept, TREES, model)) >= float(cost) - 1e-6


def test_local_search_stops_at_its_bound():
    load = workload(*((slide * 2, slide) for slide in (2, 4, 8, 16, 32)))
    groups, steps = local_search(load, TREES, operations(1000), alone(5), 2)
    assert steps == 2
    assert len(groups) == 3


def test_inserting_starts_from_few_groups():
    load = workload((16, 4), (10, 5), (8, 4), (4, 2))
    groups = insert_then_weave(load, TREES, operations("1.2"))
    assert in_order(groups) == [0, 1, 2, 3]
    assert len(groups) < 4


def test_an_average_that_finds_company_is_rewritten_and_one_that_does_not_is_fused_again():
    rows = Fraction(2)
    queries = [
        Aggregated(seconds(8, 4), "SUM"),
        Aggregated(seconds(12, 4), "COUNT"),
        Aggregated(seconds(4, 4), "AVG"),
    ]
    costs = average_costs(queries, rows)
    assert costs.apart == 3 * rows + Fraction(2 + 3 + 1, 4)
    assert costs.rewritten == 2 * rows + Fraction(2 + 1 + 3 + 1, 4)
    assert costs.fused_again == 0
    assert costs.vector == rows + Fraction(6, 4)
    alone_ = [*queries[:2], Aggregated(seconds(700, 7), "AVG")]
    costs = average_costs(alone_, rows)
    assert costs.fused_again == 1
    assert costs.rewritten == costs.apart


@given(window_lists(1, 6), st.lists(st.sampled_from(["SUM", "COUNT", "AVG"]), min_size=6), rates)
def test_one_vector_for_all_is_never_dearer_than_nothing_shared(specs, names, rows):
    queries = [Aggregated(w, name) for w, name in zip(specs, names, strict=False)]
    costs = average_costs(queries, rows)
    load = Workload.of(specs)
    assert costs.vector <= cost_of_plan(load, alone(len(specs)), TREES, operations(rows))
