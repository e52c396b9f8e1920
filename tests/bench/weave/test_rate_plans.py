"""Plans by range of rates: the one in use, when it changes, those to be made."""

from __future__ import annotations

import pytest
from _weave.rate_plans import RateMemo, observe
from hypothesis import given
from hypothesis import strategies as st

from tidemill.share.weave import RateRanges

RANGES = RateRanges((50.0, 300.0, 10_000.0), margin=0.25)
FULL = RateMemo[str]().with_plan(0, "low").with_plan(1, "medium").with_plan(2, "high")
LOW_BOUND, HIGH_BOUND = RANGES.bounds


@pytest.mark.parametrize(
    ("rates", "plans"),
    [
        ([1, 50, 120], ["low", "low", "low"]),
        ([50, LOW_BOUND * 1.2, LOW_BOUND * 1.3], ["low", "low", "medium"]),
        ([300, LOW_BOUND / 1.2, LOW_BOUND / 1.3], ["medium", "medium", "low"]),
        ([50, 20_000, 40, 0], ["low", "high", "low", "low"]),
        ([10_000, HIGH_BOUND / 1.1, 300], ["high", "high", "medium"]),
    ],
)
def test_a_range_is_left_only_well_beyond_its_bound(rates, plans):
    memo, used = FULL, []
    for rate in rates:
        decision = observe(RANGES, memo, rate)
        assert decision.to_make == ()
        memo = decision.memo
        used.append(decision.plan)
    assert used == plans


@given(st.lists(st.floats(1 / 1.2, 1.2), min_size=2, max_size=30), st.sampled_from(RANGES.bounds))
def test_a_rate_that_wavers_about_a_bound_changes_nothing(wavering, bound):
    memo = observe(RANGES, FULL, bound * wavering[0]).memo
    first = memo.current
    for factor in wavering[1:]:
        memo = observe(RANGES, memo, bound * factor).memo
        assert memo.current == first


def test_before_any_plan_all_ranges_are_to_be_made_the_current_one_first():
    decision = observe(RANGES, RateMemo[str](), 300.0)
    assert decision.plan is None
    assert decision.to_make == (1, 0, 2)


def test_while_a_plan_is_being_made_the_nearest_serves():
    memo = RateMemo[str]().with_plan(0, "low")
    decision = observe(RANGES, memo, 9_000.0)
    assert (decision.plan, decision.to_make) == ("low", (2,))
    later = observe(RANGES, decision.memo.with_plan(2, "high"), 9_000.0)
    assert (later.plan, later.to_make) == ("high", ())
