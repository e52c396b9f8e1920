"""What holds of every workload: costs, merges and plans against counting and trying all.

Costs are compared with plans carried out tuple by tuple, plans with the best of all partitions.
"""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.share.weave.simulation import brute_force, run
from tests.share.weave.words import US, operations, rates, window_lists, windows
from tidemill.reference.windows import edges_of
from tidemill.share.weave import (
    MODES,
    Machine,
    Processing,
    Statistics,
    Workload,
    affinity,
    alone,
    choose,
    everything,
    exact_cost,
    link,
    lower_bound,
    model_cost,
    plan_cost,
    rate_of,
    stage_costs,
)
from tidemill.share.weave.counted import VARIANTS, counted_weave
from tidemill.share.weave.local_search import local_search
from tidemill.share.weave.rivals import exhaustive, insert_then_weave, random_plan
from tidemill.windows import WindowSpec, edge_classes, edges_between

TREES, SHARED, TRIOPS = Processing.TREES, Processing.SHARED, Processing.TRIOPS

machines = st.builds(
    lambda rows, groups, subtractable: Machine(Statistics(rows, groups, subtractable)),
    st.sampled_from([0.1, 5.0, 1e3, 1e6]),
    st.sampled_from([1.0, 1e3, 1e6]),
    st.booleans(),
)
models = st.one_of(rates.map(operations), machines)


@st.composite
def partitions(draw, count):
    labels = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    groups = [tuple(i for i in range(count) if labels[i] == label) for label in set(labels)]
    return tuple(sorted(groups))


@st.composite
def plans(draw, most=5, longest=6):
    """Windows in units of one, with any grouping of them."""
    specs = draw(window_lists(1, most, longest))
    units = [WindowSpec(w.range_us // US, w.slide_us // US, w.start_us // US) for w in specs]
    return units, draw(partitions(len(units)))


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
        assert result.left_in_buffer == 0


@settings(max_examples=60)
@given(plans(most=4, longest=4), st.sampled_from([TREES, TRIOPS]))
def test_operations_of_a_run_are_the_exact_cost(plan, processing):
    """Over whole composite slides, after the first windows have closed, per unit of time."""
    specs, groups = plan
    load = Workload.of(specs)
    composite = math.lcm(*(window.slide_us for window in specs))
    head = -(-max(w.range_us + w.slide_us for w in specs) // composite) * composite
    short, long = (
        run(specs, groups, processing, [(t, 1) for t in range(span)], span)
        for span in (head, head + 4 * composite)
    )
    seconds = Fraction(4 * composite, US)
    passes = 1 if processing is TRIOPS else len(groups)
    assert long.sub_aggregations - short.sub_aggregations == passes * 4 * composite
    done = sum(
        getattr(long, level) - getattr(short, level)
        for level in ("sub_aggregations", "intercedes", "finals")
    )
    assert done / seconds == exact_cost(load, groups, processing, Fraction(US))


@settings(max_examples=60)
@given(plans(most=4, longest=5))
def test_the_buffer_of_the_intercede_never_holds_more_than_the_longest_range_and_slide(plan):
    specs, groups = plan
    span = 4 * max(w.range_us + w.slide_us for w in specs)
    result = run(specs, groups, TRIOPS, [], span)
    waits = max(w.range_us + w.slide_us for w in specs)
    assert 0 < result.longest_buffer <= waits + 1
    assert result.left_in_buffer == 0


@given(plans(), rates, st.sampled_from([TREES, TRIOPS]))
def test_the_model_is_an_upper_bound_and_exact_when_slides_divide(plan, rows, processing):
    specs, groups = plan
    load = Workload.of(specs)
    model, exact = (cost(load, groups, processing, rows) for cost in (model_cost, exact_cost))
    assert lower_bound(load, rows) <= model
    assert exact <= model
    if all(window.range_us % window.slide_us == 0 for window in specs):
        assert exact == model


@given(window_lists(1, 7), models)
def test_no_mode_costs_more_than_sharing_everything_or_nothing(specs, model):
    costs = {mode: choose(mode, specs, model).cost for mode in MODES}
    least = min(costs["none"], costs["shared"])
    assert costs["weave"] <= least
    assert costs["triweave"] <= least
    assert costs["auto"] == min(costs.values())


@given(window_lists(1, 7), models, st.sampled_from(MODES))
def test_a_chosen_plan_costs_what_it_says(specs, model, mode):
    plan = choose(mode, specs, model)
    load = Workload.of(specs)
    counted = plan_cost(load, plan.groups, plan.processing, model)
    assert math.isclose(plan.cost, counted, rel_tol=1e-9)
    if isinstance(plan.cost, Fraction):
        assert plan.cost == counted
    assert sorted(member for group in plan.groups for member in group) == list(range(len(specs)))
    assert (plan.processing is SHARED) == (len(plan.groups) == 1) or mode == "none"


@given(window_lists(1, 6), models)
def test_the_best_of_all_partitions_is_no_dearer_than_any_other(specs, model):
    load = Workload.of(specs)
    groups, _ = exhaustive(load, TREES, model)
    best = plan_cost(load, groups, TREES, model)
    linkage = link(load, TREES, model)
    others = [
        linkage.groups(linkage.stop_at(model.charge(TREES, load.edge_rate))),
        insert_then_weave(load, TREES, model),
        local_search(load, TREES, model, alone(len(specs)), 20)[0],
        random_plan(len(specs), 3),
    ]
    for other in others:
        assert best <= plan_cost(load, other, TREES, model) * (1 + 1e-12)


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
        assert plan_cost(load, before, TREES, model) - plan_cost(load, after, TREES, model) == saved
    groups = linkage.groups(stop)
    here = plan_cost(load, groups, TREES, model)
    for x in range(len(groups)):
        for y in range(x):
            rest = [g for n, g in enumerate(groups) if n not in (x, y)]
            joined = (*rest, groups[y] + groups[x])
            assert plan_cost(load, joined, TREES, model) >= here


@given(window_lists(1, 6), rates, rates)
def test_the_best_plan_has_no_more_groups_when_more_rows_come(specs, one, other):
    load = Workload.of(specs)
    few, many = sorted((one, other))
    assume(few != many)
    # Of equals any may be found, so the finals are compared: fewer groups never have less.
    calm, busy = (exhaustive(load, TREES, operations(rows))[0] for rows in (few, many))
    calm_finals, busy_finals = (model_cost(load, g, TREES, Fraction(0)) for g in (calm, busy))
    assert len(busy) <= len(calm)
    assert busy_finals >= calm_finals


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
        apart, joined = (plan_cost(load, g, TREES, model) for g in (alone(2), everything(2)))
        assert apart - joined == rows


@given(window_lists(2, 9), rates)
def test_the_counted_variants_make_the_plan_of_the_fast_one(specs, rows):
    load = Workload.of(specs)
    linkage = link(load, TREES, operations(rows))
    stop = linkage.stop_at(rows)
    counted = [counted_weave(load, rows, variant) for variant in VARIANTS]
    assert {found.groups for found in counted} == {linkage.groups(stop)}
    rounds = [len(specs) - k for k in range(min(stop + 1, len(specs) - 1))]
    assert counted[0].evaluations == sum(k * (k - 1) // 2 for k in rounds)
    again = sum(k - 1 for k in rounds[1:])
    assert {c.evaluations for c in counted[1:]} == {rounds[0] * (rounds[0] - 1) // 2 + again}
    visits = [found.visits for found in counted]
    assert visits == sorted(visits, reverse=True)
