"""The examples worked out in the sharing literature, with its slips put right."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.share.weave.simulation import Run as Simulated
from tests.share.weave.simulation import brute_force, run, sub_aggregate
from tests.share.weave.words import operations, seconds, workload
from tidemill.share.weave import (
    Processing,
    affinity,
    alone,
    choose_weave,
    cost_of_plan,
    everything,
    link,
)
from tidemill.windows import WindowSpec

TREES, SHARED, TRIOPS = Processing.TREES, Processing.SHARED, Processing.TRIOPS
SIX_TENS = seconds(3600, 600)
PAIRED = ((12, 9), (10, 6))
THREE = ((16, 4), (10, 5), (8, 4))
INTERCEDED = ((8, 5), (5, 4))
GREEDY_LOSES = ((5, 4), (5, 3), (1, 6), (3, 4))


def finals(load, groups, processing=TREES):
    """What is left of the model's cost at rate 0."""
    return cost_of_plan(load, groups, processing, operations(0))


def test_an_hour_every_ten_minutes_overlaps_six_times():
    assert SIX_TENS.overlap == 6


def test_paired_windows_share_two_edges_of_eight():
    load = workload(*PAIRED)
    assert load.timeline.rate(load.edges([0])) == Fraction(2, 9)
    assert load.timeline.rate(load.edges([1])) == Fraction(1, 3)
    assert load.edge_rate == Fraction(4, 9)
    found = affinity(load.windows[:1], load.windows[1:])
    assert (found.weaveability, found.containment) == (Fraction(1, 4), Fraction(1, 2))


def test_paired_windows_merge_only_above_two_thirds_rows_a_second():
    load = workload(*PAIRED)
    assert finals(load, alone(2)) == Fraction(10, 9)
    assert finals(load, everything(2)) == Fraction(16, 9)
    linkage = link(load, TREES, operations(1))
    assert linkage.stop_at(Fraction(2, 3)) == 0
    assert linkage.stop_at(Fraction(2, 3) + Fraction(1, 10**9)) == 1


@pytest.mark.parametrize(
    ("groups", "cost"),
    [
        (((0,), (1,), (2,)), "5.5"),
        (((0, 1), (2,)), "5.3"),
        (((1, 2), (0,)), "5.0"),
        (((0, 2), (1,)), "4.3"),
        (((0, 1, 2),), "4.4"),
    ],
)
def test_costs_of_every_plan_of_three_windows(groups, cost):
    assert cost_of_plan(workload(*THREE), groups, TREES, operations("1.2")) == Fraction(cost)


def test_of_three_windows_the_two_with_equal_edges_go_together():
    load = workload(*THREE)
    plan = choose_weave("weave", load.windows, operations("1.2"))
    assert plan.groups == ((0, 2), (1,))
    assert plan.cost == Fraction("4.3")
    assert affinity([load.windows[0]], [load.windows[2]]).weaveability == 1


def test_a_composite_slide_of_fifteen_has_nine_edges():
    load = workload((7, 5), (3, 3))
    assert (load.timeline.size, load.edges([0]), load.edges([1]), load.edges([0, 1])) == (
        15,
        6,
        5,
        9,
    )
    found = affinity(load.windows[:1], load.windows[1:])
    assert (found.common, found.weaveability) == (Fraction(2, 15), Fraction(2, 9))


def test_costs_with_and_without_intercede():
    load = workload(*INTERCEDED)
    assert load.edge_rate == Fraction(7, 10)
    assert affinity(load.windows[:1], load.windows[1:]).weaveability == Fraction(2, 7)
    rows, model = 3, operations(3)
    assert cost_of_plan(load, everything(2), SHARED, model) == rows + Fraction("2.8")
    assert cost_of_plan(load, alone(2), TREES, model) == 2 * rows + Fraction("1.8")
    assert cost_of_plan(load, alone(2), TRIOPS, model) == rows + Fraction("3.2")
    assert cost_of_plan(load, everything(2), TRIOPS, model) == rows + Fraction("3.5")


def test_intercede_is_bypassed_where_sharing_everything_is_cheaper():
    plan = choose_weave("triweave", workload(*INTERCEDED).windows, operations(3))
    assert (plan.groups, plan.processing) == (((0, 1),), SHARED)
    assert plan.cost == 3 + Fraction("2.8")


def test_values_of_fragments_and_windows_of_the_interceded():
    windows = [WindowSpec(*pair) for pair in INTERCEDED]
    rows = [(t, t) for t in range(20)]
    fragments = sub_aggregate(windows, rows, 20, Simulated())
    values = {(left, right): value for right, (left, value) in fragments.items() if right <= 13}
    assert values == {
        (0, 1): 0,
        (1, 3): 3,
        (3, 4): 3,
        (4, 5): 4,
        (5, 8): 18,
        (8, 9): 8,
        (9, 10): 9,
        (10, 12): 21,
        (12, 13): 12,
    }
    for groups, processing in (
        (alone(2), TREES),
        (everything(2), SHARED),
        (alone(2), TRIOPS),
        (everything(2), TRIOPS),
    ):
        answers = run(windows, groups, processing, rows, 20).answers
        assert answers == brute_force(windows, rows, 20)
        assert [answers[0, start] for start in (0, 5, 10)] == [28, 68, 108]
        assert [answers[1, start] for start in (0, 4, 8, 12)] == [10, 30, 50, 70]


def test_three_of_four_group_bys_cost_the_same_apart_and_in_two_pairs():
    load = workload((8, 5), (5, 4), (10, 1))
    assert load.edge_rate == 1
    assert finals(load, alone(3), TRIOPS) == Fraction("14.8")
    assert finals(load, ((0, 1), (2,)), TRIOPS) == Fraction("14.8")
    assert finals(load, ((1, 2), (0,)), TRIOPS) == Fraction("14.8")
    assert finals(load, ((0, 2), (1,)), TRIOPS) == 15
    assert finals(load, everything(3), TRIOPS) == 15


def test_the_greedy_may_lose_to_sharing_everything_and_is_guarded():
    load, model = workload(*GREEDY_LOSES), operations(1)
    linkage = link(load, TREES, model)
    greedy = linkage.groups(linkage.stop_at(Fraction(1)))
    assert greedy == ((0,), (1,), (2, 3))
    assert cost_of_plan(load, greedy, TREES, model) == Fraction(20, 3)
    assert cost_of_plan(load, alone(4), TREES, model) == Fraction(43, 6)
    assert choose_weave("weave", load.windows, model).cost == Fraction("6.5")
    assert load.edge_rate == Fraction(11, 12)
    assert cost_of_plan(load, ((0, 2), (1, 3)), TREES, model) == Fraction("6.5")
