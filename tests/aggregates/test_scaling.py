"""Lanes scaled by weights: by m they are what they come to when they are combined m times."""

from __future__ import annotations

import math
from typing import Any, cast

import datasketches
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from tests.scan.arrays.rows import AGGREGATES, STREAM, Row, plan_of, rows, value_of
from tidemill.aggregates import Bags, Encoded, Lane, LaneArray, lane_of_kind, lanes_behind
from tidemill.aggregates.functions import lower_numbers
from tidemill.aggregates.lanes import Count, Overflow, Sum
from tidemill.aggregates.limbs import split_decimal, split_int64, times, to_integers
from tidemill.aggregates.powers import MOST_COUNTED
from tidemill.aggregates.sketches import KllLane
from tidemill.aggregates.sketches.counting import CountMin
from tidemill.aggregates.sketches.counts import Tally
from tidemill.aggregates.user.lanes import UserLane
from tidemill.plan.expressions import Scalar
from tidemill.types import BIGINT, INT, Type

MORE = ("SUM(price)", "AVG(price)", "MIN(price)", "TOP(k, 2, SUM(price))", "MEDIAN(price)")


def lanes() -> list[Lane]:
    calls = {
        call.sql: call
        for sql in (*AGGREGATES, *MORE)
        for call in plan_of(0, f"SELECT {sql} AS a FROM s [RANGE 9 ms SLIDE 4 ms]").aggregates
    }
    every = {lane.sql: lane for call in calls.values() for lane in lanes_behind(call)}
    wide = Scalar("price", "price", Type("DECIMAL", 38, 2), ("price",))
    return [*every.values(), Overflow(wide)]


LANES = lanes()


def lifted(lane: Lane, drawn: list[Row]) -> LaneArray:
    parts = [
        lane.lift_plain([(row["ts"] or 0, tuple(value_of(s, row) for s in lane.arguments))])
        for row in drawn
    ]
    columns = zip(*parts, strict=True) if parts else [()] * len(lane.part_types)
    arrays = [pa.array(c, kind) for c, kind in zip(columns, lane.part_types, strict=True)]
    return lane.encode(arrays)


def plain(lane: Lane, cells: LaneArray) -> list[Any]:
    """Each cell in a form that does not depend on how its values are kept."""
    if isinstance(cells, Bags):
        return [dict(sorted(pairs)) for pairs in _entries(cells)]
    if cells.values.dtype == object:
        return [_state(lane, state) for state in cells.values.tolist()]
    if cells.values.dtype.names and isinstance(lane, UserLane):
        return [str(record) for record in cells.values]
    values: Any = to_integers(cells.values) if cells.values.ndim == 2 else cells.values
    valid = np.ones(len(values), bool) if cells.valid is None else cells.valid
    return [value if there else None for value, there in zip(values.tolist(), valid, strict=True)]


def _entries(bags: Bags) -> list[list[tuple[int, Any]]]:
    weights = bags.weights
    whole = to_integers(weights.T) if len(weights) > 1 else weights[0]
    return [
        [(int(bags.codes[entry]), whole[entry]) for entry in range(begin, end)]
        for begin, end in zip(bags.begin.tolist(), bags.end.tolist(), strict=True)
    ]


def _state(lane: Lane, state: Any) -> Any:
    if state is None:
        return None
    read = getattr(lane.family, "read", lambda same: same)(state)  # type: ignore[attr-defined]
    if isinstance(read, Tally):
        return dict(zip(read.keys.tolist(), read.counts.tolist(), strict=True)), read.missed
    if hasattr(read, "get_estimate"):
        return read.get_estimate()
    return bytes(read) if isinstance(read, bytes) else bytes(read.serialize())


def assert_equal(left: Any, right: Any) -> None:
    if isinstance(left, dict | list | tuple) and type(left) is type(right):
        assert len(left) == len(right)
        both = (list(s.items()) if isinstance(s, dict) else s for s in (left, right))
        for one, other in zip(*both, strict=True):
            assert_equal(one, other)
    elif isinstance(left, float) and isinstance(right, float):
        same = left == right or (math.isnan(left) and math.isnan(right))
        near = math.isclose(left, right, rel_tol=1e-9)
        # Of what is not finite one kind is as good as another.
        assert same or near or not (math.isfinite(left) or math.isfinite(right))
    else:
        assert left == right


@pytest.mark.parametrize("lane", LANES, ids=lambda lane: f"{lane.kind}({lane.sql})")
@settings(max_examples=25)
@given(drawn=rows(6), data=st.data())
def test_scaled_is_combined_so_many_times(
    lane: Lane, drawn: list[Row], data: st.DataObject
) -> None:
    if not lane.can_be_scaled:
        assert isinstance(lane, KllLane)
        return
    place = np.array([data.draw(st.integers(0, 2)) for _ in drawn], np.int64)
    cells = lane.combined(lifted(lane, drawn), place, 3)
    weights = np.array(data.draw(st.lists(st.integers(1, 9), min_size=3, max_size=3)))
    often = np.repeat(np.arange(3), weights)
    combined = lane.combined(cells, often, 3, often)
    event("several" if weights.max() > 1 else "as it is")
    assert_equal(plain(lane, lane.scaled(cells, weights)), plain(lane, combined))


@pytest.mark.parametrize("lane", LANES, ids=lambda lane: f"{lane.kind}({lane.sql})")
def test_nothing_adds_nothing(lane: Lane) -> None:
    row: Row = {column.name: None for column in STREAM.columns}
    several = lifted(lane, [{**row, "t": 3, "n": 5, "x": 2.5, "k": "a"}])
    empty = lane.combined(lane.nothing(2), np.zeros(2, np.int64), 1)
    assert_equal(plain(lane, empty), plain(lane, lane.nothing(1)))
    assert len(plain(lane, several)) == 1


def test_a_count_of_nothing_is_zero_and_a_sum_is_none() -> None:
    column = Scalar("n", "n", INT, ("n",))
    assert plain(Count(column), Count(column).nothing(2)) == [0, 0]
    assert plain(Sum(column), Sum(column).nothing(2)) == [None, None]


LIMBS = st.integers(-(2**127), 2**127 - 1) | st.integers(-(2**40), 2**40)
WEIGHTS = st.integers(1, 2**63 - 1) | st.integers(1, 9)


@example(drawn=[])
@given(drawn=st.lists(st.tuples(LIMBS, WEIGHTS, WEIGHTS), max_size=6))
def test_products_of_wide_integers_have_no_end(drawn: list[tuple[int, int, int]]) -> None:
    limbs = np.array([[v >> s & 0xFFFFFFFF for s in (0, 32, 64)] + [v >> 96] for v, _, _ in drawn])
    limbs = limbs.reshape(-1, 4).astype(np.int64)
    once = times(limbs, np.array([weight for _, weight, _ in drawn], np.int64))
    twice = times(once, np.array([weight for _, _, weight in drawn], np.int64))
    assert to_integers(twice).tolist() == [value * a * b for value, a, b in drawn]
    event("many limbs" if twice.shape[1] > 4 else "few limbs")


def test_sums_beyond_their_type_raise_and_leave_their_neighbours_alone() -> None:
    plan = plan_of(0, "SELECT SUM(big) AS a, COUNT(big) AS b FROM s [RANGE 9 ms SLIDE 4 ms]")
    for call in plan.aggregates:
        (lane,) = lanes_behind(call)
        cells = Encoded(np.array([2**40, 3, 2**30]), None)
        wide = cast(Encoded, lane.scaled(cells, np.array([2**40, 2, 2**32])))
        values, valid, raised = lower_numbers(call, {lane: wide}, {})
        assert valid is not None
        assert raised is not None
        assert raised.tolist() == [True, False, False]
        assert valid.tolist() == [False, True, True]
        assert values[1:].tolist() == [6, 2**62]


def test_means_and_decimals_of_more_rows_than_64_bits_count() -> None:
    plan = plan_of(0, "SELECT AVG(n) AS a, GEOMETRIC_MEAN(n) AS b FROM s [RANGE 9 ms SLIDE 4 ms]")
    often = np.array([2**62, 1])
    row: Row = {column.name: None for column in STREAM.columns}
    drawn = [{**row, "n": 8}, {**row, "n": 5}]
    for call in plan.aggregates:
        by_lane = {
            lane: cast(Encoded, lane.scaled(lane.scaled(lifted(lane, drawn), often), often))
            for lane in lanes_behind(call)
        }
        values, _, _ = lower_numbers(call, by_lane, {})
        np.testing.assert_allclose(values.astype(float), [8, 5], rtol=1e-12)


def test_values_are_counted_up_to_a_bound() -> None:
    lane = lane_of_kind("counts", Scalar("n", "n", BIGINT, ("n",)))
    row: Row = {column.name: None for column in STREAM.columns}
    cells = lane.combined(
        lifted(lane, [{**row, "n": 1}, {**row, "n": 2}]), np.zeros(2, np.int64), 1
    )
    (counts,) = plain(lane, lane.scaled(lane.scaled(cells, np.array([2**40])), np.array([2**40])))
    assert list(counts.values()) == [MOST_COUNTED // 2] * 2


def test_a_count_min_sketch_that_is_full_is_scaled_as_a_whole() -> None:
    family = CountMin(3)
    state = family.make(range(20), [1] * 20)
    scaled = family.read(family.scaled(state, 6))
    assert isinstance(scaled, datasketches.count_min_sketch)
    whole = family.read(family.merged([state] * 6))
    assert [scaled.get_estimate(n) for n in range(20)] == [whole.get_estimate(n) for n in range(20)]
    assert scaled.get_estimate(3) >= 6


def test_a_sketch_of_percentiles_is_not_scaled() -> None:
    lane = KllLane(Scalar("n", "n", INT, ("n",)), parameters=(200,))
    assert not lane.can_be_scaled
    with pytest.raises(NotImplementedError, match="kll"):
        lane.scaled(lane.absent(1), np.array([2]))


def test_decimals_stay_exact_in_limbs() -> None:
    lane = Sum(Scalar("p", "p", Type("DECIMAL", 28, 0), ("p",)))
    limbs = split_decimal(pa.array([10**27, -1], pa.decimal128(28, 0)))
    scaled = lane.scaled(Encoded(np.asarray(limbs), None), np.array([10**9, 10**18]))
    assert plain(lane, scaled) == [10**36, -(10**18)]
    assert plain(lane, Encoded(split_int64(np.array([-5])), None)) == [-5]
