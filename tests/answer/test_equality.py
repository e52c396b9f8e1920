"""Which rows are equal, against comparing each with each."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemill.answer.equality import RowClasses, equal_rows

# Neighbours are equal, or far from it: a chain of near values would be one value.
FLOATS = st.none() | st.sampled_from(
    [0.0, -0.0, 0.3, 0.1 + 0.2, -0.3, math.nan, math.inf, -math.inf, 1e300, 5e-324]
)
KINDS = {
    pa.int64(): st.none() | st.integers(-2, 2),
    pa.string(): st.none() | st.sampled_from(["", "a", "b"]),
    pa.float64(): FLOATS,
    pa.float32(): st.none() | st.sampled_from([0.0, -0.0, 0.5, math.nan]),
    pa.list_(pa.float64()): st.none() | st.lists(FLOATS, max_size=3),
    pa.list_(pa.struct([("v", pa.string()), ("w", pa.float64())])): st.none()
    | st.lists(
        st.none() | st.fixed_dictionaries({"v": st.none() | st.just("a"), "w": FLOATS}), max_size=2
    ),
    pa.null(): st.none(),
}


@given(st.data(), st.integers(0, 12), st.lists(st.sampled_from(list(KINDS)), max_size=3))
def test_rows_have_one_number_if_they_are_equal(
    data: st.DataObject, count: int, kinds: list[pa.DataType]
) -> None:
    within = np.array([data.draw(st.integers(0, 1)) for _ in range(count)], dtype=np.int64)
    values = [[data.draw(KINDS[kind]) for _ in range(count)] for kind in kinds]
    # A slice of a longer array: offsets do not begin at 0.
    columns = [
        pa.array([None, *column], kind).slice(1) for column, kind in zip(values, kinds, strict=True)
    ]
    numbers = equal_rows(RowClasses.of(within), columns)
    for one, other in combinations(range(count), 2):
        is_equal = bool(within[one] == within[other]) and all(
            equal(column[one], column[other]) for column in values
        )
        assert is_equal == (numbers[one] == numbers[other]), (one, other)


def equal(left: Any, right: Any) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return all(equal(left[name], right[name]) for name in left)
    if isinstance(left, float) and isinstance(right, float):
        both_nan = math.isnan(left) and math.isnan(right)
        return both_nan or left == right or math.isclose(left, right, rel_tol=1e-9)
    return left is right or bool(left == right)


@pytest.mark.parametrize("scale", [1.0, 1e300, 1e-300, -1e9])
def test_floats_are_equal_within_a_billionth(scale: float) -> None:
    near, far = scale * (1 + 0.9e-9), scale * (1 + 1.1e-9)
    assert len(set(equal_rows(RowClasses.single(2), [pa.array([scale, near])]).tolist())) == 1
    assert len(set(equal_rows(RowClasses.single(2), [pa.array([scale, far])]).tolist())) == 2
