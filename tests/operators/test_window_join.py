"""The join of windows against nested loops, for any cuts of time, pieces and orders of arrival."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidemill.operators import window_join
from tidemill.operators.results import batches_of
from tidemill.operators.window_join import HeldSide, WindowJoinSpan
from tidemill.reference.window_pairs import Pairing, SideOfPairs, pairs_that_come
from tidemill.state import buckets, keyed_rows
from tidemill.state.keyed_rows import KeyedRows

END_US = 40
TEXTS = pa.string()
KEYS: dict[pa.DataType, list[object]] = {
    TEXTS: [None, "a", "b", "c"],
    pa.decimal128(5, 1): [None, Decimal("1.5"), Decimal("-1.5"), Decimal("0.0")],
    pa.float64(): [None, -0.0, 0.0, float("nan"), 1.5],
}


def plain_key(key: object) -> object:
    """Equal for keys that meet: zeros of either sign, and NaN."""
    return "nan" if key != key else key


def pieces_of(rows: Sequence[tuple[object, int]], cuts: Sequence[int], key_type: pa.DataType):
    """The rows as pieces; each is known by its number."""
    edges = [0, *sorted(cut % (len(rows) + 1) for cut in cuts), len(rows)]
    pieces = []
    for low, high in pairwise(edges):
        keys = pa.array([key for key, _ in rows[low:high]], key_type)
        table = pa.table({"k": keys, "n": pa.array(range(low, high), pa.int64())})
        piece = KeyedRows.of(table, np.array([t for _, t in rows[low:high]], np.int64), keys=1)
        if len(piece):
            pieces.append(piece)
    return tuple(pieces)


def results_of(span: WindowJoinSpan, most_results: int) -> list[Pairing]:
    pairings = list[Pairing]()
    for block in span.blocks():
        rows = 0
        for batch in batches_of(block, most_results):
            rows += len(batch)
            numbers = [batch.column(side, 1).to_pylist() for side in range(len(span.sides))]
            bounds = zip(batch.begins_us.tolist(), batch.ends_us.tolist(), strict=True)
            instants = [until if span.goes else begin for begin, until in bounds]
            assert batch.instants_us.tolist() == instants == sorted(instants)
            bounds = zip(batch.begins_us.tolist(), batch.ends_us.tolist(), strict=True)
            pairings += [
                Pairing(*bound, key)
                for bound, key in zip(bounds, zip(*numbers, strict=True), strict=True)
            ]
        assert rows == block.results
    return pairings


@st.composite
def joins(draw: st.DrawFn):
    key_type = draw(st.sampled_from(list(KEYS)))
    row = st.tuples(st.sampled_from(KEYS[key_type]), st.integers(0, 20))
    sides = []
    for _ in range(draw(st.integers(2, 4))):
        rows = draw(st.lists(row, max_size=8))
        cuts = draw(st.lists(st.integers(0, 8), max_size=3))
        sides.append((draw(st.integers(1, 12)), rows, pieces_of(rows, cuts, key_type)))
    edges = draw(st.lists(st.integers(-5, END_US), max_size=5))
    return sides, [-100, *sorted(edges), END_US]


@pytest.fixture(params=[2**64, 1, 2])
def hash_values(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So many hashes are given to all keys: different ones may share theirs."""
    if request.param < 2**64:
        few = np.uint64(request.param)
        hashes_of = buckets.hashes_of
        monkeypatch.setattr(keyed_rows, "hashes_of", lambda keys: hashes_of(keys) % few)
    return int(request.param)


@pytest.mark.usefixtures("hash_values")
@pytest.mark.parametrize("goes", [False, True])
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(join=joins(), most_runs=st.integers(1, 40), most_results=st.integers(1, 9))
def test_any_cuts_of_time_give_what_nested_loops_give(
    join, most_runs: int, most_results: int, goes: bool
):
    sides, edges = join
    plain = [
        SideOfPairs(range_us, tuple((plain_key(key), t, n) for n, (key, t) in enumerate(rows)))
        for range_us, rows, _ in sides
    ]
    held = tuple(HeldSide(range_us, pieces) for range_us, _, pieces in sides)
    results = list[Pairing]()
    for first_us, until_us in pairwise(edges):
        span = WindowJoinSpan(held, first_us, until_us, goes, most_runs)
        results += results_of(span, most_results)
    assert Counter(results) == Counter(pairs_that_come(plain))


def test_equal_times_join_once_and_rows_a_range_apart_do_not():
    left = pieces_of([("a", 10)], [], TEXTS)
    right = pieces_of([("a", 10), ("a", 20), ("a", 19)], [], TEXTS)
    span = WindowJoinSpan((HeldSide(10, left), HeldSide(5, right)), 0, 100)
    assert results_of(span, 100) == [Pairing(10, 15, (0, 0)), Pairing(19, 20, (0, 2))]


def test_the_heaviest_key_is_named_before_a_row_is_made():
    left = pieces_of([("a", 1), ("b", 1), ("b", 2)], [1], TEXTS)
    right = pieces_of([("a", 2), ("b", 2), ("b", 3), ("b", 3)], [2], TEXTS)
    for most_runs in (100, 1):
        sides = HeldSide(10, left), HeldSide(10, right)
        span = WindowJoinSpan(sides, 0, 100, most_runs=most_runs)
        key, count = span.heaviest()
        assert (key.to_pylist(), count, span.results) == ([{"_0": "b"}], 6, 7)


def test_products_beyond_64_bits_are_counted_as_many():
    rows = [("a", 1)] * 70_000
    piece = pieces_of(rows, [], TEXTS)
    sides = tuple(HeldSide(10, piece) for _ in range(5))
    assert WindowJoinSpan(sides, 0, 100).results == window_join.COUNT_LIMIT
