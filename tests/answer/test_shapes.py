"""Shapes: what makes queries alike, and what is lifted out of them."""

from __future__ import annotations

import pytest

from tests.laws.queries import plan_of
from tidemill.answer.shapes import LiftedQuery, finishes_here, lift


def lifted(select: str, window: str = "RANGE 8 ms SLIDE 4 ms", tail: str = "") -> LiftedQuery:
    return lift(plan_of(0, f"SELECT {select} FROM s [{window}] GROUP BY k{tail}"))


ONE = lifted("k, SUM(n) AS total", tail=" HAVING COUNT(*) > 5 ORDER BY total LIMIT 3")


@pytest.mark.parametrize(
    ("select", "window", "tail"),
    [
        ("k, SUM(n) AS total", "RANGE 9 ms SLIDE 2 ms", "COUNT(*) > 5 ORDER BY total LIMIT 3"),
        ("k, SUM(n) AS total", "RANGE 8 ms SLIDE 4 ms", "COUNT(*) > 70 ORDER BY total LIMIT 9"),
        ("k AS who, SUM(n) AS a", "RANGE 8 ms SLIDE 4 ms", "COUNT(*) > 5 ORDER BY a LIMIT 3"),
    ],
    ids=["windows", "constants and limits", "names"],
)
def test_alike(select: str, window: str, tail: str) -> None:
    assert lifted(select, window, f" HAVING {tail}").shape == ONE.shape


@pytest.mark.parametrize(
    "tail",
    [
        " HAVING COUNT(*) >= 5 ORDER BY total LIMIT 3",
        " HAVING COUNT(*) > 5.5 ORDER BY total LIMIT 3",
        " HAVING COUNT(*) > 5 ORDER BY total DESC LIMIT 3",
        " HAVING COUNT(*) > 5 ORDER BY total",
        " HAVING COUNT(*) > NULL ORDER BY total LIMIT 3",
    ],
    ids=["operator", "type of a constant", "direction", "no limit", "a NULL"],
)
def test_not_alike(tail: str) -> None:
    assert lifted("k, SUM(n) AS total", tail=tail).shape != ONE.shape


def test_what_sets_a_query_apart() -> None:
    assert (ONE.values, ONE.limit, ONE.column_names) == ((5,), 3, ("k", "total"))


def test_the_digits_of_round_stay_where_they_are() -> None:
    two, three = (lifted(f"k, ROUND(AVG(x) * 7, {digits}) AS a") for digits in (2, 3))
    assert two.values == three.values == (7,)
    assert two.shape != three.shape


def test_what_spark_finishes_leaves_with_its_slots() -> None:
    plan = plan_of(0, "SELECT k, SUM(n) AS a FROM s [RANGE 8 ms SLIDE 4 ms] GROUP BY k LIMIT 2")
    assert finishes_here(plan)
    assert lift(plan).shape.is_ordered
