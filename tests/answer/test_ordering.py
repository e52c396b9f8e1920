"""Order of rows: every type in Spark's order, both directions, NULLs at either end."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemill.answer.ordering import order_rows, top_per_window

ASCENDING = {
    "double": pa.array([-math.inf, -1.5, -5e-324, 0.0, 5e-324, 2.0, math.inf, math.nan]),
    "float": pa.array([-math.inf, -1.5, 0.0, 2.0, math.nan], pa.float32()),
    "bigint": pa.array([-(2**63), -1, 0, 2**63 - 1]),
    "tinyint": pa.array([-128, 0, 127], pa.int8()),
    "boolean": pa.array([False, True]),
    "string": pa.array(["", "B", "a", "ab", "é", "\uffff", "\U0001f600"]),
    "decimal": pa.array([Decimal("-10.5"), Decimal("-9.0"), Decimal("0.0"), Decimal("10.1")]),
    "date": pa.array([date(1969, 1, 1), date(2020, 1, 1)]),
    "timestamp": pa.array(
        [datetime(1969, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC)],
        pa.timestamp("us", "UTC"),
    ),
}


@pytest.mark.parametrize("kind", ASCENDING)
@pytest.mark.parametrize(("descending", "nulls_first"), list(product([False, True], repeat=2)))
def test_values_come_in_sparks_order(kind, descending, nulls_first):
    values = ASCENDING[kind]
    shuffled = np.random.default_rng(1).permutation(len(values) + 1)
    column = pa.concat_arrays([values, pa.nulls(1, values.type)]).take(pa.array(shuffled))
    ordered = shuffled[order_rows([(column, descending, nulls_first)])].tolist()
    expected = list(range(len(values)))[:: -1 if descending else 1]
    null = [len(values)]
    assert ordered == (null + expected if nulls_first else expected + null)


def test_equal_values_stay_in_the_order_they_came():
    zeros = pa.array([0.0, -0.0, 0.0, math.nan, -math.nan])
    assert order_rows([(zeros, False, True)]).tolist() == [0, 1, 2, 3, 4]
    assert order_rows([(zeros, True, True)]).tolist() == [3, 4, 0, 1, 2]


def test_later_columns_break_ties():
    first, second = pa.array([1, 1, 0]), pa.array(["a", "b", "z"])
    assert order_rows([(first, False, True), (second, True, False)]).tolist() == [2, 1, 0]


def test_an_order_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one column"):
        order_rows([])


ROWS = st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(-2, 2)), max_size=30)


@given(ROWS, st.integers(0, 4) | st.just(2**62), st.booleans())
def test_top_per_window_is_sort_then_take(rows, limit, descending):
    windows = np.array([window for window, _ in rows], np.int64)
    values = pa.array([value for _, value in rows], pa.int64())

    def rank(index):
        value = rows[index][1]
        return (value is not None, 0 if value is None else -value if descending else value)

    expected = [
        index
        for window in sorted({window for window, _ in rows})
        for index in sorted(
            (index for index, row in enumerate(rows) if row[0] == window), key=rank
        )[:limit]
    ]
    limits = np.full(len(rows), limit)
    got = top_per_window([windows], [(values, descending, True)], limits)
    assert got.tolist() == expected


def test_without_columns_rows_keep_their_order_within_a_window():
    order = top_per_window([np.array([2, 1, 2, 1])], [], np.full(4, 9))
    assert order.tolist() == [1, 3, 0, 2]


def test_a_window_may_be_named_by_two_numbers_and_has_the_limit_of_its_rows():
    starts, ends = np.array([1, 1, 1, 1, 1]), np.array([9, 8, 9, 8, 9])
    values = pa.array([3, 2, 1, 0, 2])
    order = top_per_window([starts, ends], [(values, False, True)], np.array([2, 1, 2, 1, 2]))
    assert order.tolist() == [3, 2, 4]
