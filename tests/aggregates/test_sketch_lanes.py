"""Which sketches are kept for which calls: equal ones once, whoever asks for what of them."""

from __future__ import annotations

from tests.laws.queries import plan_of
from tidemill.aggregates import Lane, lanes_behind


def lanes_of(*calls: str) -> set[Lane]:
    items = ", ".join(f"{call} AS a{place}" for place, call in enumerate(calls))
    plan = plan_of(0, f"SELECT {items} FROM s [RANGE 9 ms SLIDE 4 ms]")
    return {lane for call in plan.aggregates for lane in lanes_behind(call)}


def test_percentiles_of_one_column_read_one_sketch() -> None:
    (lane,) = lanes_of("APPROX_PERCENTILE(n, 0.5)", "PERCENTILE_APPROX(n, 0.99)")
    assert lane.sql == "kll(n, 200)"


def test_counts_of_any_value_read_one_sketch() -> None:
    assert len(lanes_of("APPROX_COUNT(n, 1)", "APPROX_COUNT(n, 2)")) == 1


def test_errors_that_need_one_size_are_one_sketch() -> None:
    assert len(lanes_of("APPROX_COUNT_DISTINCT(k)", "APPROX_COUNT_DISTINCT(k, 0.02)")) == 1
    assert len(lanes_of("APPROX_COUNT_DISTINCT(k)", "APPROX_COUNT_DISTINCT(k, 0.05)")) == 2
    assert len(lanes_of("APPROX_TOP_K(k, 3)", "APPROX_TOP_K(k, 700)")) == 1
    assert len(lanes_of("APPROX_TOP_K(k, 3)", "APPROX_TOP_K(k, 800)")) == 2


def test_bounds_come_after_their_value_and_one_column_says_whether_any_is_estimated() -> None:
    plan = plan_of(
        0,
        "SELECT APPROX_COUNT_DISTINCT(k) AS a, APPROX_TOP_K(k, 1) AS b, APPROX_COUNT(k, 'a') + 1 "
        "AS c FROM s [RANGE 9 ms SLIDE 4 ms]",
    )
    assert [output.name for output in plan.outputs] == [
        "a",
        "a_low",
        "a_high",
        "b",
        "c",
        "estimated",
    ]
