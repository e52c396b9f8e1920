"""Ranges of rates: their bounds, and when a stream leaves one for another."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.share.weave.words import operations, seconds
from tidemill.share.weave import RateRanges, choose_weave

RANGES = RateRanges((50.0, 300.0, 10_000.0), margin=0.25)
LOW_BOUND, HIGH_BOUND = RANGES.bounds


def test_bounds_are_half_way_by_ratio():
    assert pytest.approx((math.sqrt(15_000), math.sqrt(3_000_000))) == RANGES.bounds


@pytest.mark.parametrize(
    ("rates", "ranges"),
    [
        ([1, 50, 120], [0, 0, 0]),
        ([50, LOW_BOUND * 1.2, LOW_BOUND * 1.3], [0, 0, 1]),
        ([300, LOW_BOUND / 1.2, LOW_BOUND / 1.3], [1, 1, 0]),
        ([50, 20_000, 40, 0], [0, 2, 0, 0]),
        ([10_000, HIGH_BOUND / 1.1, 300], [2, 2, 1]),
    ],
)
def test_a_range_is_left_only_well_beyond_its_bound(rates, ranges):
    current, visited = None, []
    for rate in rates:
        current = RANGES.next_range(current, rate)
        visited.append(current)
    assert visited == ranges


@given(st.lists(st.floats(1 / 1.2, 1.2), min_size=2, max_size=30), st.sampled_from(RANGES.bounds))
def test_a_rate_that_wavers_about_a_bound_changes_nothing(wavering, bound):
    first = RANGES.next_range(None, bound * wavering[0])
    assert all(RANGES.next_range(first, bound * factor) == first for factor in wavering[1:])


def test_plans_of_the_ranges_really_differ():
    windows = [seconds(r, s) for r, s in ((50, 7), (90, 11), (99, 13), (70, 10), (39, 3))]
    calm, busy = (choose_weave("weave", windows, operations(rate)) for rate in (1, 10_000))
    assert len(calm.groups) > len(busy.groups) == 1
