"""Kernels, limbs and layouts on cases worked out by hand.

What holds for all inputs is in `laws/test_kernel_laws.py`; here are the goldens, the refusals
and the values that poison a careless kernel.
"""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
import pytest

from tests.state.combined import combine_windows
from tidemill.aggregates.algebra import (
    ALGEBRAS,
    COUNT,
    FLOAT_MAX,
    FLOAT_MIN,
    FLOAT_SUM,
    INTEGER_MAX,
    INTEGER_MIN,
    INTEGER_SUM,
    Algebra,
)
from tidemill.aggregates.limbs import (
    normalise,
    split_decimal,
    split_int64,
    to_decimal,
    to_float,
    to_int64,
)
from tidemill.arrays import IntArray
from tidemill.state.kernels import KERNELS, Running, choose
from tidemill.state.layouts import dense as dense_layout
from tidemill.state.layouts.bundles import pick_layout
from tidemill.state.layouts.lane_values import LaneValues
from tidemill.windows import WindowSpec, edge_classes, edges_between

NAN, INF = float("nan"), float("inf")
ORDERED = ("interval", "basic")
# Strings under concatenation: associative, and wrong at once if two slices change places.
TEXT = Algebra("text", np.frompyfunc(lambda a, b: a + b, 2, 1), "", commutative=False)


def windows(*bounds: tuple[int, int]) -> tuple[IntArray, IntArray]:
    lo, hi = np.array(bounds, dtype=np.int64).reshape(-1, 2).T
    return lo, hi


# One tuple a second with value t, windows (8,5) and (5,4): the slices are cut at the edges of both.
#   0 1   3 4 5     8 9 10  12 13
#   |0| 3 |3|4| 18  |8|9| 21 |12| …
def test_shared_slices_answer_both_windows():
    specs = [WindowSpec(8, 5), WindowSpec(5, 4)]
    edges = edges_between(edge_classes(specs), 0, 19)
    begins, ends = edges[:-1], edges[1:]
    cells = np.array([[sum(range(b, e))] for b, e in zip(begins, ends, strict=True)])
    assert cells[:9, 0].tolist() == [0, 3, 3, 4, 18, 8, 9, 21, 12]
    for spec, starts, expected in (
        (specs[0], [0, 5, 10], [28, 68, 108]),
        (specs[1], [0, 4, 8, 12], [10, 30, 50, 70]),
    ):
        bounds = np.array(starts), np.array(starts) + spec.range_us
        lo, hi = (np.searchsorted(begins, bound) for bound in bounds)
        for kernel in KERNELS.values():
            assert kernel(cells, INTEGER_SUM).windows(lo, hi)[:, 0].tolist() == expected


@pytest.mark.parametrize("algebra", [FLOAT_SUM, FLOAT_MIN, INTEGER_MAX, TEXT], ids=lambda a: a.name)
def test_subtraction_is_refused_to_those_that_cannot(algebra):
    words = f"running kernel needs a subtractable algebra, and {algebra.name} is not"
    with pytest.raises(ValueError, match=words):
        Running(np.zeros((1, 1)), algebra)


@pytest.mark.parametrize("algebra", ALGEBRAS.values(), ids=lambda a: a.name)
def test_groups_asked_alone_are_walked_as_whole_windows_are_combined(algebra):
    kernel = Running if algebra.subtractable else KERNELS["basic"]
    rng = np.random.default_rng(5)
    cells = rng.integers(-50, 50, (200, 300))
    if algebra.name.startswith("float"):
        cells = np.where(rng.random(cells.shape) < 0.01, NAN, cells)
    # So many that they go through a loop, and so short that nobody turns the matrix round.
    lo = rng.integers(0, 198, 20_000)
    hi, group = lo + rng.integers(0, 3, len(lo)), rng.integers(0, 300, len(lo))
    made = kernel(cells, algebra)
    pairs, place = np.unique(np.stack([lo, hi]), axis=1, return_inverse=True)
    whole = made.windows(*pairs)[place.ravel(), group]
    np.testing.assert_array_equal(made.at(lo, hi, group), whole)


@pytest.mark.parametrize("kernel", ORDERED)
def test_one_infinity_does_not_poison_later_windows(kernel):
    cells = np.array([[1.0], [INF], [1e18], [2.0], [-INF], [3.0]])
    bounds = windows((0, 2), (2, 4), (3, 4), (5, 6), (1, 5))
    got = KERNELS[kernel](cells, FLOAT_SUM).windows(*bounds)
    assert got[:4, 0].tolist() == [INF, 1e18 + 2, 2.0, 3.0]
    assert np.isnan(got[4, 0])


@pytest.mark.parametrize("kernel", ORDERED)
def test_nan_is_greater_than_infinity(kernel):
    cells = np.array([[NAN], [INF], [-0.0], [NAN], [NAN]])
    bounds = windows((0, 2), (0, 3), (3, 5), (2, 3))
    least = KERNELS[kernel](cells, FLOAT_MIN).windows(*bounds)[:, 0]
    assert least[:2].tolist() == [INF, 0.0]
    assert np.isnan(least[2])
    greatest = KERNELS[kernel](cells, FLOAT_MAX).windows(*bounds)[:, 0]
    assert np.isnan(greatest[:3]).all()
    assert greatest[3] == 0.0


@pytest.mark.parametrize("kernel", ORDERED)
@pytest.mark.parametrize("groups", [1, 3, 300])
def test_order_is_kept(kernel, groups):
    cells = np.repeat(np.array(list("abcdefghijk"), dtype=object)[:, None], groups, axis=1)
    lo, hi = windows((0, 11), (3, 10), (5, 5), (1, 2), (10, 11))
    got = KERNELS[kernel](cells, TEXT).windows(lo, hi)
    assert got[:, -1].tolist() == ["abcdefghijk", "defghij", "", "b", "k"]


@pytest.mark.parametrize("groups", [1, 400])
def test_wrapped_totals_still_give_exact_differences(groups):
    cells = np.full((6, groups), 2**62)
    assert Running(cells, INTEGER_SUM).windows(*windows((4, 5)))[0, -1] == 2**62


@pytest.mark.parametrize("algebra", ALGEBRAS.values(), ids=lambda a: a.name)
def test_no_slices_and_no_windows_are_fine(algebra):
    dtype = np.float64 if algebra.name.startswith("float") else np.int64
    for kernel in [KERNELS[name] for name in KERNELS if name != "running" or algebra.subtractable]:
        assert kernel(np.empty((0, 2), dtype), algebra).windows(*windows()).shape == (0, 2)
        empty = kernel(np.empty((0, 2), dtype), algebra).windows(*windows((0, 0)))
        np.testing.assert_array_equal(empty, algebra.filled((1, 2), dtype))


@pytest.mark.parametrize(
    ("algebra", "slices", "length", "count", "groups", "kernel"),
    [
        (COUNT, 1000, 100, 900, 20, "running"),  # many long windows that can be subtracted
        (COUNT, 1000, 8, 3, 1000, "basic"),  # a few short ones: totals would cost more
        (FLOAT_SUM, 1000, 500, 500, 20, "interval"),
        (FLOAT_SUM, 1000, 500, 5, 20, "basic"),
        (FLOAT_MIN, 1000, 500, 500, 20, "interval"),
        (FLOAT_MIN, 1000, 8, 5, 1000, "basic"),
    ],
)
def test_the_choice(algebra, slices, length, count, groups, kernel):
    lo = np.arange(count)
    assert choose(algebra, slices, lo, lo + length, groups) == kernel


# --- limbs ---

WIDE = [0, 1, -1, 2**32, -(2**32), 2**63, -(2**63), 2**64 - 1, 10**37, -(10**38) + 1]


def decimals(values, scale=0):
    """The unscaled values as a column; the exponent is shifted without rounding to 28 digits."""
    exact = Context(prec=60)
    shifted = [None if v is None else Decimal(v).scaleb(-scale, exact) for v in values]
    return pa.array(shifted, pa.decimal128(38, scale))


def test_int64_round_trip():
    values = np.array([0, 1, -1, 2**32, 2**63 - 1, -(2**63)])
    got, overflow = to_int64(split_int64(values))
    assert got.tolist() == values.tolist()
    assert not overflow.any()


def test_int64_overflow_is_seen_from_any_number_of_limbs():
    two = split_int64(np.array([2**63 - 1, -(2**63), 2**63 - 1]))
    two[:2] += split_int64(np.array([1, -1]))
    assert to_int64(two)[1].tolist() == [True, True, False]
    values, overflow = to_int64(split_decimal(decimals([2**63, -(2**63), 2**96, -(2**96), -5])))
    assert overflow.tolist() == [True, False, True, True, False]
    assert values.tolist() == [0, -(2**63), 0, 0, -5]


@pytest.mark.parametrize("scale", [0, 5])
def test_decimal_round_trip_minds_offset_and_nulls(scale):
    array = decimals([7, None, *WIDE, None, 9], scale)
    limbs = split_decimal(array.slice(1, len(array) - 2))
    assert limbs[0].tolist() == limbs[-1].tolist() == [0, 0, 0, 0]
    assert ((limbs[:, :-1] >= 0) & (limbs[:, :-1] < 2**32)).all()
    assert to_decimal(limbs[1:-1], 38, scale).equals(decimals(WIDE, scale))


def test_an_empty_decimal_column():
    none = split_decimal(decimals([]))
    assert none.shape == (0, 4)
    assert to_decimal(none, 38, 2).to_pylist() == []


def test_what_lies_under_a_null_is_not_summed():
    values = decimals([5, 6])
    masked = pa.Array.from_buffers(values.type, 2, [pa.py_buffer(b"\x01"), values.buffers()[1]])
    assert masked.to_pylist() == [Decimal(5), None]
    assert split_decimal(masked).tolist() == [[5, 0, 0, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize("sign", [1, -1])
def test_decimals_beyond_their_precision_are_null(sign):
    limbs = split_decimal(decimals([sign * 999, sign * 1000, sign * (10**38 - 1)]))
    assert to_decimal(limbs, 3, 0).to_pylist() == [Decimal(sign * 999), None, None]
    # Twice 10^38 - 1 passes 128 bits' worth of decimals, a thousand times it 128 bits.
    beyond = np.stack([limbs[2] * 2, limbs[2] * 1000])
    assert to_decimal(beyond, 38, 0).to_pylist() == [None, None]


def test_a_sum_beyond_128_bits_is_null_and_still_a_float():
    limbs = split_decimal(decimals([10**38 - 1])) * 1_000_000
    assert to_decimal(limbs, 38, 0).to_pylist() == [None]
    assert to_float(limbs)[0] == pytest.approx(1e44, rel=1e-15)


def test_normalise_carries_and_leaves_its_input_alone():
    limbs = np.array([[2**33 + 5, -3, 0]])
    kept = limbs.copy()
    assert normalise(limbs).tolist() == [[5, 2**32 - 1, -1]]
    assert (limbs == kept).all()


def test_floats_of_wide_integers():
    got = to_float(split_decimal(decimals(WIDE)))
    np.testing.assert_array_max_ulp(got, np.array([float(v) for v in WIDE]), maxulp=1)


# --- layouts ---


@pytest.mark.parametrize("layout", ["dense", "sparse", "auto"])
def test_groups_without_rows_do_not_appear_and_nulls_stay_null(layout):
    # slice     0    1    2        window 0 = [0,2), 1 = [1,3), 2 is empty
    # group 0   5    .    NULL
    # group 1   .    .    7
    got = combine_windows(
        np.array([2, 0, 2]),
        np.array([1, 0, 0]),
        2,
        3,
        *windows((0, 2), (1, 3), (2, 2)),
        [
            LaneValues(np.array([7, 5, 99]), INTEGER_MIN, np.array([True, True, False])),
            LaneValues(np.array([1, 1, 1]), COUNT),
        ],
        layout,
    )
    assert got.window.tolist() == [0, 1, 1]
    assert got.group.tolist() == [0, 0, 1]
    (least, known), (count, always) = got.lanes
    assert known.tolist() == [True, False, True]
    assert least[known].tolist() == [5, 7]
    assert count.tolist() == [1, 1, 1]
    assert always.all()


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_rows_of_one_slice_and_group_are_combined(layout):
    """As two pieces have them, whose tick ended within a slice."""
    at, group = np.array([1, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 0])
    lanes = [
        LaneValues(np.array([5, 6, 7, 8, 9]), COUNT),
        LaneValues(
            np.array([5, 6, 7, 8, 9]), INTEGER_MIN, np.array([False, True, True, True, False])
        ),
    ]
    got = combine_windows(at, group, 2, 3, *windows((0, 2), (1, 2), (1, 3), (2, 3)), lanes, layout)
    assert got.window.tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert got.group.tolist() == [0, 1, 0, 1, 0, 1, 0]
    (count, _), (least, known) = got.lanes
    assert count.tolist() == [18, 8, 12, 8, 21, 8, 9]
    assert known.tolist() == [True] * 6 + [False]
    assert least[known].tolist() == [6, 8, 7, 8, 7, 8]


@pytest.mark.parametrize("layout", ["dense", "sparse", "auto"])
@pytest.mark.parametrize("bounds", [[], [(0, 0)]])
def test_nothing_to_combine(layout, bounds):
    none = np.empty(0, np.int64)
    got = combine_windows(none, none, 0, 0, *windows(*bounds), [LaneValues(none, COUNT)], layout)
    assert got.window.size == got.group.size == got.lanes[0][0].size == 0


def test_dense_work_is_cut_into_runs_of_windows(monkeypatch):
    rng = np.random.default_rng(7)
    at = rng.choice(40 * 6, 120, replace=False)
    lanes = [LaneValues(split_int64(rng.integers(-9, 9, 120)), INTEGER_SUM, rng.random(120) < 0.7)]
    lo = rng.integers(0, 40, 25)
    given = (at // 6, at % 6, 6, 40, lo, np.minimum(lo + rng.integers(0, 9, 25), 40), lanes)
    whole = combine_windows(*given, "dense")
    monkeypatch.setattr(dense_layout, "MOST_CELLS", 30)
    monkeypatch.setattr(dense_layout, "BLOCK_CELLS", 13)
    parts = combine_windows(*given, "dense")
    assert whole.window.size > 25
    for left, right in (
        (whole.window, parts.window),
        (whole.group, parts.group),
        *zip(whole.lanes[0], parts.lanes[0], strict=True),
    ):
        assert left.tolist() == right.tolist()


def test_full_matrices_are_dense_and_rare_groups_sparse():
    lo = np.arange(50)
    full = np.repeat(np.arange(60), 100)
    assert pick_layout(full, 100, 60, lo, lo + 10) == "dense"
    rare = np.arange(60)
    assert pick_layout(rare, 10_000, 60, lo, lo + 10) == "sparse"
