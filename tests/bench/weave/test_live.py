"""Queries that come and go: the plan stays valid, and is made anew when it has drifted."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from _weave.live import Policy, added, begin, bypassed, rebuilt, removed
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.share.weave.words import models, operations, seconds, window_lists, windows
from tidemill.share.weave import (
    Processing,
    Workload,
    choose_weave,
    cost_of_plan,
)

TREES, TRIOPS = Processing.TREES, Processing.TRIOPS

policies = st.builds(
    Policy, models, st.sampled_from([TREES, TRIOPS]), st.sampled_from([0.0, 0.25, math.inf])
)


def named(specs):
    return {f"q{number}": spec for number, spec in enumerate(specs)}


def counted_cost(plan):
    """The same plan, its windows laid on a line of their own and counted afresh."""
    names = list(plan.windows)
    groups = tuple(tuple(names.index(name) for name in group) for group in plan.groups)
    how = bypassed(plan.policy.processing, len(groups))
    return cost_of_plan(Workload.of(plan.windows.values()), groups, how, plan.policy.model)


@settings(max_examples=60)
@given(policies, window_lists(0, 4), st.lists(st.one_of(windows(), st.integers(0, 9)), max_size=6))
def test_a_plan_costs_what_its_groups_cost_after_any_changes(policy, specs, changes):
    plan = begin(policy, named(specs))
    for number, change in enumerate(changes):
        if not isinstance(change, int):
            plan = added(plan, f"new{number}", change)
        elif plan.windows:
            plan = removed(plan, sorted(plan.windows)[change % len(plan.windows)])
        members = [name for group in plan.groups for name in group]
        assert sorted(members) == sorted(plan.windows)
        assert all(plan.groups)
        assert math.isclose(plan.cost, counted_cost(plan), rel_tol=1e-9)


@settings(max_examples=60)
@given(policies, window_lists(1, 5), windows())
def test_adding_and_taking_away_again_restores_the_cost_after_a_rebuild(policy, specs, extra):
    before = begin(policy, named(specs))
    after = rebuilt(removed(added(before, "extra", extra), "extra"))
    assert set(after.windows) == set(before.windows)
    assert math.isclose(after.cost, before.cost, rel_tol=1e-9)


@settings(max_examples=60)
@given(models, window_lists(2, 7))
def test_without_tolerance_no_plan_stays_dearer_than_expected_or_than_one_made_anew(model, specs):
    plan = begin(Policy(model, TREES, epsilon=0.0), {})
    offline = 0
    for name, spec in named(specs).items():
        plan = added(plan, name, spec)
        assert plan.expected
        assert plan.is_rebuild_due == (float(plan.cost / plan.expected) > 1)
        if plan.is_rebuild_due or len(plan.windows) == 2:
            plan = rebuilt(plan)
            offline += 1
            best = choose_weave("weave", plan.windows.values(), model)
            assert plan.cost <= best.cost * (1 + 1e-12)
            assert plan.made[-1][0] == len(plan.windows)
        assert plan.drift <= 1e-12 or plan.made[-1][0] == len(plan.windows)
    assert offline


def test_a_plan_that_drifted_is_made_anew_and_then_costs_less():
    policy = Policy(operations("1.2"), TREES, epsilon=0.0)
    plan = begin(policy, {"a": seconds(16, 4)})
    for name, spec in (("b", seconds(10, 5)), ("c", seconds(8, 4))):
        plan = added(plan, name, spec)
    assert plan.groups == (("a", "b", "c"),)
    assert plan.cost == Fraction("4.4")
    due = replace(plan, made=((1, Fraction(1)), (2, Fraction(2))))
    assert due.expected == 3
    assert due.drift == pytest.approx(4.4 / 3 - 1)
    assert due.is_rebuild_due
    assert not replace(due, policy=replace(policy, epsilon=0.5)).is_rebuild_due
    assert rebuilt(due).groups == (("a", "c"), ("b",))
    assert rebuilt(due).cost == Fraction("4.3")
    assert rebuilt(due).made == ((2, Fraction(2)), (3, Fraction("4.3")))


def test_taking_away_one_of_two_windows_with_equal_edges_leaves_the_edges():
    plan = begin(Policy(operations(5), TREES), {"a": seconds(16, 4), "b": seconds(8, 4)})
    assert len(plan.trees) == 1
    left = removed(plan, "a")
    assert left.edge_rate == plan.edge_rate == Fraction(1, 4)
    assert plan.cost - left.cost == Fraction(4, 4)


def test_a_window_off_the_line_gets_a_new_line():
    plan = begin(Policy(operations(5), TREES), {"a": seconds(16, 4), "b": seconds(9, 6)})
    wider = added(plan, "c", seconds(15, 7))
    assert wider.timeline.exact
    assert wider.timeline.seconds == 84
    with pytest.raises(ValueError, match="already"):
        added(wider, "c", seconds(15, 7))
