"""Bags as values: however they are put together, stored and read, they hold the same."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemill.aggregates import Bags, Lane, concatenated
from tidemill.aggregates.encoded import flat
from tidemill.aggregates.lanes import Counts, Weights
from tidemill.aggregates.limbs import to_decimal
from tidemill.plan.expressions import Scalar
from tidemill.types import BIGINT, DOUBLE, INT, STRING, Type

PRICE = Type("DECIMAL", 12, 2)
KINDS: dict[Type, tuple[Any, ...]] = {
    STRING: ("", "a", "b", "ä"),
    DOUBLE: (0.0, -0.0, 1.5, math.nan, math.inf),
    BIGINT: (0, -7, 2**63 - 1, -(2**63)),
    PRICE: (Decimal("1.25"), Decimal("-9999999999.99")),
}
WEIGHTS: dict[Type, tuple[Any, ...]] = {
    INT: (0, 1, -7),
    BIGINT: (3, 2**63 - 1, -(2**63)),
    PRICE: KINDS[PRICE],
}
Rows = list[tuple[Any, Any, int]]


def scalar(name: str, kind: Type) -> Scalar:
    return Scalar(name, name, kind, (name,))


@st.composite
def lanes(draw: st.DrawFn) -> tuple[Lane, Rows]:
    """A lane, and rows of a value, a weight and a place."""
    kind = draw(st.sampled_from(tuple(KINDS)))
    lane: Lane = Counts(scalar("x", kind))
    weights: st.SearchStrategy[Any] = st.integers(1, 9)
    if draw(st.booleans()):
        by = draw(st.sampled_from(tuple(WEIGHTS)))
        lane = Weights(scalar("x", kind), (scalar("y", by),))
        weights = st.none() | st.sampled_from(WEIGHTS[by])
    values = st.none() | st.sampled_from(KINDS[kind])
    return lane, draw(st.lists(st.tuples(values, weights, st.integers(0, 4)), max_size=20))


def encoded(lane: Lane, rows: Rows) -> Bags:
    """As partial rows bring them."""
    weights = [weight for _, weight, _ in rows]
    columns = [pa.array([value for value, _, _ in rows], lane.type.arrow)]
    if len(lane.parts) == 3:
        halves = [(None, None) if w is None else (w & 0xFFFFFFFF, w >> 32) for w in weights]
        columns += [pa.array([half[n] for half in halves], pa.int64()) for n in range(2)]
    else:
        decimal = isinstance(lane, Weights) and lane.summed.type.is_decimal
        columns.append(pa.array(weights, pa.decimal128(22, 2) if decimal else pa.int64()))
    found = lane.encode(columns)
    assert isinstance(found, Bags)
    return found


def listed(lane: Lane, bags: Bags) -> list[dict[Any, Any]]:
    """Value to weight, of every cell."""
    values = [_key(value) for value in bags.dictionary.to_pylist()]
    limbs = bags.weights.shape[0]
    whole = sum(bags.weights[n].astype(object) * 2 ** (32 * n) for n in range(limbs))
    if limbs == 4 and bags.weights.size:
        whole = np.array(to_decimal(bags.weights.T, 38, 2).to_pylist(), object)
    return [
        {values[bags.codes[e]]: whole[e] for e in range(bags.begin[i], bags.end[i])}
        for i in range(len(bags))
    ]


def plain(rows: Rows) -> list[dict[Any, Any]]:
    places: list[dict[Any, Any]] = [{} for _ in range(5)]
    for value, weight, place in rows:
        if value is not None and weight is not None:
            places[place][_key(value)] = places[place].get(_key(value), 0) + weight
    return places


def _key(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def at(lane: Lane, bags: Bags, place: list[int], places: int) -> Bags:
    found = lane.combined(bags, np.array(place, np.int64), places)
    assert isinstance(found, Bags)
    return found


@given(lanes())
def test_combined_bags_hold_the_sums(drawn: tuple[Lane, Rows]) -> None:
    lane, rows = drawn
    found = at(lane, encoded(lane, rows), [place for _, _, place in rows], 5)
    assert listed(lane, found) == plain(rows)


@given(lanes(), st.integers(0, 20), st.randoms())
def test_combining_is_commutative_and_associative(
    drawn: tuple[Lane, Rows], cut: int, random: Any
) -> None:
    """Any order of the rows, put together in any two parts, comes to the same."""
    lane, rows = drawn
    shuffled = random.sample(rows, len(rows))
    parts = [
        at(lane, encoded(lane, part), [place for _, _, place in part], 5)
        for part in (shuffled[:cut], shuffled[cut:])
    ]
    whole = concatenated(parts)
    assert isinstance(whole, Bags)
    assert listed(lane, at(lane, whole, [*range(5), *range(5)], 5)) == plain(rows)


@given(lanes(), st.lists(st.integers(0, 4), max_size=8))
def test_a_piece_keeps_bags(drawn: tuple[Lane, Rows], order: list[int]) -> None:
    """Also those read from the middle of one."""
    lane, rows = drawn
    found = at(lane, encoded(lane, rows), [place for _, _, place in rows], 5)
    taken = found.take(np.array(order, np.int64))
    kept = pa.table(lane.decode(taken), list(lane.parts))
    for low in range(len(order) + 1):
        run = kept.slice(low)
        again = lane.encode([flat(run.column(name)) for name in lane.parts])
        assert isinstance(again, Bags)
        assert listed(lane, again) == listed(lane, taken)[low:]


@pytest.mark.parametrize("kind", list(KINDS))
def test_cells_from_before_have_no_values(kind: Type) -> None:
    lane = Counts(scalar("x", kind))
    whole = concatenated([lane.absent(2), encoded(lane, [(KINDS[kind][0], 3, 0)])])
    assert isinstance(whole, Bags)
    assert whole.sizes.tolist() == [0, 0, 1]


def test_dictionaries_are_sorted_as_spark_sorts() -> None:
    lane = Counts(scalar("x", DOUBLE))
    rows: Rows = [(value, 1, 0) for value in (math.nan, math.inf, -0.0, 0.0, -math.inf)]
    found = encoded(lane, rows).dictionary.to_pylist()
    assert list(map(str, found)) == ["-inf", "0.0", "inf", "nan"]
