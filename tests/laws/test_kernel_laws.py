"""Laws of the algebras, and every kernel and layout against recalculation from scratch.

Integers, minima and maxima must agree exactly, float sums within 1e-9 of the sum of sizes
(the order of addition is free). What the comparison cannot catch is a mistake in the meaning
of an algebra shared with `reference.recalc`; `state/test_kernels.py` has cases by hand.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.state.combined import combine_windows
from tidemill.aggregates.algebra import (
    ALGEBRAS,
    COUNT,
    FLOAT_MAX,
    FLOAT_MIN,
    FLOAT_SUM,
    INTEGER_MAX,
    INTEGER_SUM,
)
from tidemill.aggregates.limbs import (
    normalise,
    split_decimal,
    split_int64,
    to_decimal,
    to_float,
    to_int64,
)
from tidemill.aggregates.plain import greatest, least
from tidemill.reference.recalc import PartialRow, plus, recalc, recalc_rows
from tidemill.state.kernels import KERNELS, choose
from tidemill.state.layouts.lane_values import LaneValues

PLAIN = {
    "count": plus,
    "integer_sum": plus,
    "float_sum": plus,
    "integer_min": least,
    "integer_max": greatest,
    "float_min": least,
    "float_max": greatest,
}
int64s = st.integers(-(2**63), 2**63 - 1)
wild_floats = st.floats() | st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan])
tame_floats = st.floats(-1e9, 1e9)


def values_for(algebra):
    if algebra.name == "float_sum":
        return tame_floats
    if algebra.name.startswith("float"):
        return wild_floats
    return int64s if algebra.idempotent else st.integers(-(2**40), 2**40)


def dtype_for(algebra):
    return np.float64 if algebra.name.startswith("float") else np.int64


def pytest_ids(algebra):
    return algebra.name


each_algebra = pytest.mark.parametrize("algebra", ALGEBRAS.values(), ids=pytest_ids)


def same(left, right):
    """Equal, NaN to NaN; the zeros are equal too."""
    np.testing.assert_array_equal(np.asarray(left), np.asarray(right))


@each_algebra
@given(data=st.data())
def test_identity_and_commutativity(algebra, data):
    a, b = (np.array(data.draw(values_for(algebra)), dtype_for(algebra)) for _ in range(2))
    neutral = algebra.filled((), dtype_for(algebra))
    same(algebra.combine(a, neutral), a)
    same(algebra.combine(neutral, a), a)
    same(algebra.combine(a, b), algebra.combine(b, a))


@each_algebra
@given(data=st.data())
def test_associativity(algebra, data):
    a, b, c = (np.array(data.draw(values_for(algebra)), dtype_for(algebra)) for _ in range(3))
    left = algebra.combine(algebra.combine(a, b), c)
    right = algebra.combine(a, algebra.combine(b, c))
    if algebra is FLOAT_SUM:
        assert abs(left - right) <= 1e-9 * (abs(a) + abs(b) + abs(c))
    else:
        same(left, right)


@pytest.mark.parametrize("algebra", [a for a in ALGEBRAS.values() if a.idempotent], ids=pytest_ids)
@given(data=st.data())
def test_idempotence(algebra, data):
    a = np.array(data.draw(values_for(algebra)), dtype_for(algebra))
    same(algebra.combine(a, a), a)


@pytest.mark.parametrize(
    "algebra", [a for a in ALGEBRAS.values() if a.subtractable], ids=pytest_ids
)
@given(a=int64s, b=int64s)
def test_subtraction_undoes_even_what_overflowed(algebra, a, b):
    left, right = np.array([a]), np.array([b])
    same(algebra.combine(left, right) - right, left)


@st.composite
def slices_and_windows(draw, algebra):
    slices, groups = draw(st.integers(0, 40)), draw(st.integers(1, 3))
    elements = values_for(algebra)
    cells = draw(hnp.arrays(dtype_for(algebra), (slices, groups), elements=elements))
    bound = st.integers(0, slices)
    pairs = draw(st.lists(st.tuples(bound, bound).map(sorted), max_size=12))
    lo, hi = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return cells, lo, hi


@pytest.mark.parametrize(
    ("kernel", "algebra"),
    [
        pytest.param(kernel, algebra, id=f"{kernel}-{algebra.name}")
        for kernel in KERNELS
        for algebra in ALGEBRAS.values()
        if kernel != "running" or algebra.subtractable  # the refusal is tested elsewhere
    ],
)
@given(data=st.data())
def test_every_kernel_equals_recalculation(kernel, algebra, data):
    cells, lo, hi = data.draw(slices_and_windows(algebra))
    # Wide slices take other paths through the kernels than narrow ones.
    wide = np.tile(cells, (1, data.draw(st.sampled_from([1, 300]))))
    kept = wide.copy()
    got = KERNELS[kernel](wide, algebra).windows(lo, hi)
    assert got.shape == (len(lo), wide.shape[1])
    same(wide, kept)
    groups = cells.shape[1]
    same(got, np.tile(got[:, :groups], (1, wide.shape[1] // groups)))
    check(algebra, cells, lo, hi, got[:, :groups])


def check(algebra, cells, lo, hi, got):
    if len(cells) == 0:
        same(got, algebra.filled(got.shape, got.dtype))
        return
    slow = recalc(cells.tolist(), lo, hi, PLAIN[algebra.name], algebra.identity)
    expected = np.array(slow, dtype=got.dtype).reshape(got.shape)
    if algebra is FLOAT_SUM:
        sizes = np.array(recalc(np.abs(cells).tolist(), lo, hi, plus, 0.0)).reshape(got.shape)
        assert np.all(np.abs(got - expected) <= 1e-9 * sizes)
    else:
        same(got, expected)


@each_algebra
@given(data=st.data())
def test_the_chosen_kernel_is_one_that_the_algebra_allows(algebra, data):
    cells, lo, hi = data.draw(slices_and_windows(algebra))
    kernel = choose(algebra, len(cells), lo, hi, cells.shape[1])
    check(algebra, cells, lo, hi, KERNELS[kernel](cells, algebra).windows(lo, hi))


# --- limbs ---

wide_integers = st.integers(-(10**38) + 1, 10**38 - 1)


def as_integers(limbs):
    return [sum(limb << 32 * i for i, limb in enumerate(row)) for row in limbs.tolist()]


def as_decimals(values):
    return pa.array([None if v is None else Decimal(v) for v in values], pa.decimal128(38, 0))


@given(st.lists(wide_integers | st.none(), max_size=20))
def test_limbs_are_the_integers_they_were_split_from(values):
    limbs = split_decimal(as_decimals(values))
    assert as_integers(limbs) == [v or 0 for v in values]
    same(normalise(limbs), limbs)


@given(
    hnp.arrays(
        np.int64,
        st.tuples(st.integers(0, 6), st.integers(1, 5)),
        elements=st.integers(-(2**62), 2**62),
    )
)
def test_normalising_changes_no_value(limbs):
    got = normalise(limbs)
    assert as_integers(got) == as_integers(limbs)
    assert ((got[:, :-1] >= 0) & (got[:, :-1] < 2**32)).all()


@given(st.lists(st.lists(int64s, min_size=1, max_size=8), min_size=1, max_size=6))
def test_sums_of_bigints_are_exact_or_known_to_overflow(rows):
    limbs = np.array([split_int64(np.array(row)).sum(axis=0) for row in rows])
    values, overflow = to_int64(limbs)
    for row, value, over in zip(rows, values.tolist(), overflow.tolist(), strict=True):
        assert over == (not -(2**63) <= sum(row) < 2**63)
        assert value == (0 if over else sum(row))


@given(
    st.lists(st.lists(wide_integers, min_size=1, max_size=8), min_size=1, max_size=6),
    st.integers(1, 38),
)
def test_sums_of_decimals_are_exact_or_null(rows, precision):
    limbs = np.array([split_decimal(as_decimals(row)).sum(axis=0) for row in rows])
    got = to_decimal(limbs, precision, 0).to_pylist()
    totals = [sum(row) for row in rows]
    assert got == [Decimal(t) if abs(t) < 10**precision else None for t in totals]
    np.testing.assert_array_max_ulp(to_float(limbs), np.array(totals, dtype=float), maxulp=1)


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=20))
def test_windows_of_limbs_are_windows_of_integers(values):
    cells = split_decimal(as_decimals(values))[:, None, :]
    lo, hi = (bound.ravel() for bound in np.indices((len(values) + 1,) * 2))
    hi = np.maximum(lo, hi)
    for kernel in KERNELS.values():
        got = kernel(cells, INTEGER_SUM).windows(lo, hi)[:, 0]
        assert as_integers(got) == [sum(values[a:b]) for a, b in zip(lo, hi, strict=True)]


# --- layouts ---

LANES = (INTEGER_SUM, FLOAT_MIN, FLOAT_MAX, INTEGER_MAX, COUNT)


@st.composite
def partial_rows(draw):
    slices, groups = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    place = st.tuples(st.integers(0, slices - 1), st.integers(0, groups - 1))
    places = draw(st.lists(place, unique=True, max_size=30))
    lanes = st.tuples(
        st.none() | int64s,
        st.none() | wild_floats,
        st.none() | wild_floats,
        st.none() | int64s,
        st.integers(1, 1000),
    )
    rows = [PartialRow(at, group, draw(lanes)) for at, group in places]
    bound = st.integers(0, slices)
    pairs = draw(st.lists(st.tuples(bound, bound).map(sorted), max_size=10))
    lo, hi = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return rows, slices, groups, lo, hi


def column(values, algebra):
    """A lane; what lies under a NULL is junk."""
    valid = np.array([v is not None for v in values], dtype=bool)
    junk = [77 if v is None else v for v in values]
    array = np.array(junk, dtype=dtype_for(algebra))
    if algebra is INTEGER_SUM:
        array = split_int64(array)
    return LaneValues(array, algebra, None if algebra is COUNT else valid)


def as_rows(combined):
    """The combined lanes as Python values, None for NULL."""
    lanes = []
    for (values, valid), algebra in zip(combined.lanes, LANES, strict=True):
        plain = as_integers(values) if algebra is INTEGER_SUM else values.tolist()
        lanes.append([v if ok else None for v, ok in zip(plain, valid.tolist(), strict=True)])
    places = zip(combined.window.tolist(), combined.group.tolist(), strict=True)
    return [(*place, lanes) for place, lanes in zip(places, zip(*lanes, strict=True), strict=True)]


@pytest.mark.parametrize("layout", ["dense", "sparse", "auto"])
@given(partial_rows())
def test_every_layout_equals_recalculation(layout, drawn):
    rows, slices, groups, lo, hi = drawn
    columns = [
        column([row.values[lane] for row in rows], algebra) for lane, algebra in enumerate(LANES)
    ]
    at = np.array([row.slice_index for row in rows], dtype=np.int64)
    group = np.array([row.group for row in rows], dtype=np.int64)
    got = as_rows(combine_windows(at, group, groups, slices, lo, hi, columns, layout))
    combines = [PLAIN[algebra.name] for algebra in LANES]
    expected = recalc_rows(rows, lo.tolist(), hi.tolist(), combines)
    assert nan_free(got) == nan_free(expected)


def nan_free(rows):
    """NaN is unequal to itself; a word is not."""
    return [
        (window, group, tuple("NaN" if v != v else v for v in lanes))
        for window, group, lanes in rows
    ]
