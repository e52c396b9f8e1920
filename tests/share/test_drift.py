"""When a plan that followed its queries is held against one made anew."""

from __future__ import annotations

from fractions import Fraction

from tidemill.share.drift import extrapolated, has_drifted, has_outgrown


def test_a_plan_is_measured_by_the_line_through_the_last_two() -> None:
    made = ((10, 100.0), (20, 150.0))
    # Thirty queries are expected to cost 200.
    assert not has_drifted(made, 30, 249.0, percent=25)
    assert has_drifted(made, 30, 251.0, percent=25)
    assert not has_drifted(made, 30, 251.0, percent=30)


def test_without_a_plan_to_measure_by_nothing_has_drifted() -> None:
    assert not has_drifted((), 5, 1e9, percent=1)


def test_the_expected_cost_is_the_line_through_the_last_two():
    assert extrapolated((), 5) == 0
    assert extrapolated(((4, Fraction(8)),), 6) == 12
    assert extrapolated(((4, Fraction(8)), (6, Fraction(10))), 9) == 13
    assert extrapolated(((4, Fraction(8)), (4, Fraction(8))), 5) == 10
    assert extrapolated(((0, Fraction(0)), (2, Fraction(3))), 4) == 6


def test_the_last_point_proves_a_plan_of_more_queries_and_a_share_of_fewer() -> None:
    made = ((4, 80.0), (10, 100.0))
    assert not has_outgrown(made, 40, 124.0, percent=25)
    assert has_outgrown(made, 40, 126.0, percent=25)
    assert not has_outgrown(made, 8, 99.0, percent=25)
    assert has_outgrown(made, 8, 101.0, percent=25)
