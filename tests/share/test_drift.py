"""When a plan that followed its queries is made anew."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.share.shared import context, query
from tidemill.share.drift import cost_of_arrangement, extrapolated, has_drifted, with_point
from tidemill.share.optimiser import Group


def test_a_plan_is_measured_by_the_line_through_the_last_two() -> None:
    made = with_point(with_point(with_point((), 1, 5.0), 10, 100.0), 20, 150.0)
    assert made == ((10, 100.0), (20, 150.0))
    # Thirty queries are expected to cost 200.
    assert not has_drifted(made, 30, 249.0, percent=25)
    assert has_drifted(made, 30, 251.0, percent=25)
    assert not has_drifted(made, 30, 251.0, percent=30)


def test_without_a_plan_to_measure_by_nothing_has_drifted() -> None:
    assert not has_drifted((), 5, 1e9, percent=1)


@pytest.mark.parametrize("sharing", ["auto", "shared", "weave", "triweave"])
def test_sharing_equal_windows_costs_less_than_not(sharing: str) -> None:
    twins = (query(0), query(1))
    together = cost_of_arrangement([Group(twins)], context(sharing))
    apart = cost_of_arrangement([Group((one,)) for one in twins], context(sharing))
    assert 0 < together < apart


def test_the_expected_cost_is_the_line_through_the_last_two():
    assert extrapolated((), 5) == 0
    assert extrapolated(((4, Fraction(8)),), 6) == 12
    assert extrapolated(((4, Fraction(8)), (6, Fraction(10))), 9) == 13
    assert extrapolated(((4, Fraction(8)), (4, Fraction(8))), 5) == 10
    assert extrapolated(((0, Fraction(0)), (2, Fraction(3))), 4) == 6
