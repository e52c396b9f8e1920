"""The literature's worked examples, as far as only the study counts them."""

from __future__ import annotations

from fractions import Fraction

from _weave.counted import VARIANTS, counted_weave
from _weave.exact import exact_cost, group_rates
from _weave.rivals import exhaustive

from tests.share.weave.words import operations, workload
from tidemill.share.weave import Processing, alone, cost_of_plan, everything

TREES, SHARED = Processing.TREES, Processing.SHARED
PAIRED = ((12, 9), (10, 6))
GREEDY_LOSES = ((5, 4), (5, 3), (1, 6), (3, 4))


def test_rates_of_paired_windows():
    assert group_rates(workload(*PAIRED), alone(2)) == (Fraction(2, 9), Fraction(1, 3))


def test_paired_windows_really_read_fewer_slices_than_the_model_says():
    load = workload(*PAIRED)
    zero = Fraction(0)
    assert exact_cost(workload((12, 9)), alone(1), TREES, zero) == Fraction(1, 3)
    assert exact_cost(load, everything(2), SHARED, zero) == Fraction(4, 3)


def test_a_composite_slide_of_fifteen_is_probed_by_the_rarer_window():
    load = workload((7, 5), (3, 3))
    visits = [counted_weave(load, Fraction(0), variant).visits for variant in VARIANTS]
    assert visits == [11, 11, 6, 5]


def test_the_best_of_all_plans_where_the_greedy_loses():
    load, model = workload(*GREEDY_LOSES), operations(1)
    groups, units = exhaustive(load, TREES, model)
    assert units / load.timeline.seconds == Fraction("6.5")
    assert cost_of_plan(load, groups, TREES, model) == Fraction("6.5")
