"""What holds of every workload: costs, merges and plans against counting and trying all.

Costs are compared with plans carried out tuple by tuple, plans with the best of all partitions.
"""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.share.weave.simulation import brute_force, run
from tests.share.weave.words import US, models, operations, plans, rates, window_lists, windows
from tidemill.reference.windows import edges_of
from tidemill.share.weave import (
    WEAVE_MODES,
    Processing,
    Workload,
    affinity,
    alone,
    choose_weave,
    cost_of_plan,
    everything,
    link,
    rate_of,
    stage_costs,
)
from tidemill.windows import edge_classes, edges_between

TREES, SHARED, TRIOPS = Processing.TREES, Processing.SHARED, Processing.TRIOPS


def plain(window):
    return window.range_us, window.slide_us, window.start_us


@given(plans())
def test_fragments_partition_time_and_repeat_with_the_composite_slide(plan):
    specs, groups = plan
    for group in groups:
        members = [specs[member] for member in group]
        composite = math.lcm(*(window.slide_us for window in members))
        first, second = (
            edges_of(map(plain, members), low, low + composite) for low in (0, 7 * composite)
        )
        load = Workload.of(members)
        assert [edge + 7 * composite for edge in first] == second
        assert Fraction(len(first) * US, composite) == load.edge_rate
        assert rate_of(members).per_second == load.edge_rate
        starts = [(w, w.window_start(k)) for w in members for k in range(composite)]
        bounds = {t % composite for w, start in starts for t in (start, start + w.range_us)}
        assert bounds == set(first)


@settings(max_examples=60)
@given(plans(most=4, longest=5), st.sampled_from([TREES, TRIOPS]), st.data())
def test_every_plan_answers_as_brute_force_does(plan, processing, data):
    specs, groups = plan
    span = 3 * max(w.range_us + w.slide_us for w in specs)
    times = data.draw(st.lists(st.integers(0, span - 1), max_size=30))
    rows = [(t, 2**number) for number, t in enumerate(times)]
    for chosen, how in ((groups, processing), (everything(len(specs)), SHARED)):
        result = run(specs, chosen, how, rows, span)
        assert result.answers == brute_force(specs, rows, span)
        assert result.answers


@given(window_lists(1, 7), models)
def test_no_mode_costs_more_than_sharing_everything_or_nothing(specs, model):
    costs = {mode: choose_weave(mode, specs, model).cost for mode in WEAVE_MODES}
    least = min(costs["none"], costs["shared"])
    assert costs["weave"] <= least
    assert costs["triweave"] <= least
    assert costs["auto"] == min(costs.values())


@given(window_lists(1, 7), models, st.sampled_from(WEAVE_MODES))
def test_a_chosen_plan_costs_what_it_says(specs, model, mode):
    plan = choose_weave(mode, specs, model)
    load = Workload.of(specs)
    counted = cost_of_plan(load, plan.groups, plan.processing, model)
    assert math.isclose(plan.cost, counted, rel_tol=1e-9)
    if isinstance(plan.cost, Fraction):
        assert plan.cost == counted
    assert sorted(member for group in plan.groups for member in group) == list(range(len(specs)))
    assert (plan.processing is SHARED) == (len(plan.groups) == 1) or mode == "none"


@given(window_lists(2, 7), rates)
def test_every_merge_pays_exactly_what_it_says_and_at_the_end_none_does(specs, rows):
    load, model = Workload.of(specs), operations(rows)
    linkage = link(load, TREES, model)
    stop = linkage.stop_at(rows)
    costs = stage_costs(load, linkage, TREES, model)
    for number in range(stop):
        saved = rows - linkage.merges[number].loss / load.timeline.seconds
        assert saved > 0
        assert costs[number] - costs[number + 1] == saved
        before, after = (linkage.groups(number + k) for k in (0, 1))
        assert (
            cost_of_plan(load, before, TREES, model) - cost_of_plan(load, after, TREES, model)
            == saved
        )
    groups = linkage.groups(stop)
    here = cost_of_plan(load, groups, TREES, model)
    for x in range(len(groups)):
        for y in range(x):
            rest = [g for n, g in enumerate(groups) if n not in (x, y)]
            joined = (*rest, groups[y] + groups[x])
            assert cost_of_plan(load, joined, TREES, model) >= here


@given(window_lists(1, 7))
def test_without_rows_nothing_merges_and_with_very_many_all_do(specs):
    load = Workload.of(specs)
    linkage = link(load, TREES, operations(0))
    assert linkage.stop_at(Fraction(0)) == 0
    assert len(linkage.groups(linkage.stop_at(Fraction(10**9)))) == 1


@given(windows(), windows(), rates)
def test_weaveability_is_symmetric_and_one_for_equal_edges_alone(a, b, rows):
    one, other = affinity([a], [b]), affinity([b], [a])
    assert (one.weaveability, one.containment) == (other.weaveability, other.containment)
    assert 0 <= one.weaveability <= one.containment <= 1
    composite = math.lcm(a.slide_us, b.slide_us)
    listed = [edges_between(edge_classes([w]), 0, composite).tolist() for w in (a, b)]
    assert (one.weaveability == 1) == (listed[0] == listed[1])
    assert one.common * composite / US == len(set(listed[0]) & set(listed[1]))
    if one.weaveability == 1:
        load, model = Workload.of([a, b]), operations(rows)
        apart, joined = (cost_of_plan(load, g, TREES, model) for g in (alone(2), everything(2)))
        assert apart - joined == rows
