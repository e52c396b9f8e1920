"""Lanes combined at places, against a plain loop over Python's numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tidemill.aggregates import Encoded, Lane, algebra, lane_of_kind
from tidemill.aggregates.lanes import Sum
from tidemill.aggregates.limbs import split_int64, to_float
from tidemill.plan.expressions import Scalar
from tidemill.types import BIGINT, DOUBLE, INT, Type

WHOLE = st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1)
FLOATS = st.sampled_from((0.0, 1.5, -2.0, math.inf, math.nan, 1e300))
PLACES = 4


@pytest.fixture(scope="module", autouse=True, params=["compiled", "in NumPy"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(algebra, "is_worth_loading", lambda _: request.param == "compiled")
        yield


def scalar(column: str, kind: Type) -> Scalar:
    return Scalar(column, column, kind, (column,))


def rows(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, bool, int]]]:
    """Value, whether it is there, and its place."""
    return st.lists(st.tuples(values, st.booleans(), st.integers(0, PLACES - 1)), max_size=12)


def run(lane: Lane, drawn: list[tuple[Any, bool, int]], dtype: Any, wide: bool) -> Encoded:
    """The last rows twice over, so that rows are named and not just all of them taken."""
    values = np.array([value for value, _, _ in drawn], dtype=dtype)
    valid = np.array([there for _, there, _ in drawn], dtype=np.bool_)
    place = np.array([place for _, _, place in drawn], dtype=np.int64)
    named = np.concatenate([np.arange(len(drawn)), np.arange(len(drawn) // 2, len(drawn))])
    encoded = Encoded(split_int64(values) if wide else values, valid)
    found = lane.combined(encoded, place[named], PLACES, named)
    assert isinstance(found, Encoded)
    return found


def behind(drawn: list[tuple[Any, bool, int]], place: int) -> list[Any]:
    twice = [*drawn, *drawn[len(drawn) // 2 :]]
    return [value for value, there, mine in twice if there and mine == place]


def is_valid(found: Encoded, place: int) -> bool:
    return found.valid is None or bool(found.valid[place])


@given(drawn=rows(WHOLE), wide=st.booleans())
def test_sums_pass_64_bits(drawn: list[tuple[int, bool, int]], wide: bool) -> None:
    found = run(Sum(scalar("n", BIGINT)), drawn, np.int64, wide)
    for place in range(PLACES):
        mine = behind(drawn, place)
        assert is_valid(found, place) == bool(mine)
        if mine:
            limbs = found.values[place].tolist()
            total = (
                limbs if found.values.ndim == 1 else sum(v << 32 * n for n, v in enumerate(limbs))
            )
            event("more than 64 bits" if abs(sum(mine)) >= 2**63 else "fits")
            assert total == sum(mine)


@given(drawn=rows(WHOLE))
def test_the_least_and_the_largest(drawn: list[tuple[int, bool, int]]) -> None:
    for kind, choose in (("min", min), ("max", max)):
        found = run(lane_of_kind(kind, scalar("n", BIGINT)), drawn, np.int64, wide=False)
        for place in range(PLACES):
            mine = behind(drawn, place)
            assert is_valid(found, place) == bool(mine)
            assert not mine or found.values[place] == choose(mine)


@given(drawn=rows(FLOATS))
def test_floats_order_nan_above_all(drawn: list[tuple[float, bool, int]]) -> None:
    def height(value: float) -> float | tuple[float, float]:
        return (math.inf, 1.0) if math.isnan(value) else (value, 0.0)

    for kind, choose in (("min", min), ("max", max)):
        found = run(lane_of_kind(kind, scalar("x", DOUBLE)), drawn, np.float64, wide=False)
        for place in range(PLACES):
            mine = behind(drawn, place)
            assert is_valid(found, place) == bool(mine)
            if mine:
                np.testing.assert_equal(found.values[place], choose(mine, key=height))


@given(drawn=rows(st.integers(-(2**31), 2**31 - 1)))
def test_counts_and_small_sums_stay_plain(drawn: list[tuple[int, bool, int]]) -> None:
    found = run(Sum(scalar("n", INT)), drawn, np.int64, wide=False)
    assert found.values.ndim == 1
    assert found.values.tolist() == [sum(behind(drawn, place)) for place in range(PLACES)]


def test_limbs_stay_where_the_sum_might_not_fit() -> None:
    huge = [(2**62, True, 0)] * 8
    found = run(Sum(scalar("n", BIGINT)), huge, np.int64, wide=False)
    assert to_float(found.values)[0] == 12 * 2.0**62
