"""What holds of every workload in the study: exact counts, the best of all plans, the variants."""

from __future__ import annotations

import math
from fractions import Fraction

from _weave.counted import VARIANTS, counted_weave
from _weave.exact import exact_cost, lower_bound
from _weave.local_search import local_search
from _weave.rivals import exhaustive, insert_then_weave, random_plan
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.share.weave.simulation import run
from tests.share.weave.words import US, models, operations, plans, rates, window_lists
from tidemill.share.weave import Processing, Workload, alone, cost_of_plan, link

TREES, TRIOPS = Processing.TREES, Processing.TRIOPS


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


@given(plans(), rates, st.sampled_from([TREES, TRIOPS]))
def test_the_model_is_an_upper_bound_and_exact_when_slides_divide(plan, rows, processing):
    specs, groups = plan
    load = Workload.of(specs)
    model = cost_of_plan(load, groups, processing, operations(rows))
    exact = exact_cost(load, groups, processing, rows)
    assert lower_bound(load, rows) <= model
    assert exact <= model
    if all(window.range_us % window.slide_us == 0 for window in specs):
        assert exact == model


@given(window_lists(1, 6), models)
def test_the_best_of_all_partitions_is_no_dearer_than_any_other(specs, model):
    load = Workload.of(specs)
    groups, _ = exhaustive(load, TREES, model)
    best = cost_of_plan(load, groups, TREES, model)
    linkage = link(load, TREES, model)
    others = [
        linkage.groups(linkage.stop_at(model.charge(TREES, load.edge_rate))),
        insert_then_weave(load, TREES, model),
        local_search(load, TREES, model, alone(len(specs)), 20)[0],
        random_plan(len(specs), 3),
    ]
    for other in others:
        assert best <= cost_of_plan(load, other, TREES, model) * (1 + 1e-12)


@given(window_lists(1, 6), rates, rates)
def test_the_best_plan_has_no_more_groups_when_more_rows_come(specs, one, other):
    load = Workload.of(specs)
    few, many = sorted((one, other))
    assume(few != many)
    # Of equals any may be found, so the finals are compared: fewer groups never have less.
    calm, busy = (exhaustive(load, TREES, operations(rows))[0] for rows in (few, many))
    calm_finals, busy_finals = (cost_of_plan(load, g, TREES, operations(0)) for g in (calm, busy))
    assert len(busy) <= len(calm)
    assert busy_finals >= calm_finals


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
