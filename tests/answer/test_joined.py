"""Joins of windows from slices, against every row beside every other."""

from __future__ import annotations

from datetime import date
from itertools import chain
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.answer import joins
from tests.answer.joins import CALLS, KINDS, RandomSide, call_of, can_be_scaled
from tests.scan.arrays.rows import VALUES, same
from tidemill.aggregates import lanes_behind
from tidemill.answer.joined import dense, sparse
from tidemill.plan.query import AggregateCall
from tidemill.plan.window_join import SidePlace, WindowJoin
from tidemill.reference.window_joins import group_key, joined_groups
from tidemill.state.layouts.bundles import CellLayout
from tidemill.types import BIGINT, DOUBLE, STRING, Type

# Columns of each side that are compared, and what they are widened to.
KEYS: tuple[tuple[tuple[str, ...], tuple[Type, ...]], ...] = (
    (("k", "k", "k", "k"), (STRING,)),
    (("n", "t", "n", "big"), (BIGINT,)),
    (("x", "f", "n", "x"), (DOUBLE,)),
)
LAYOUTS: tuple[CellLayout, ...] = ("dense", "sparse")
GROUPED = ("k", "t", "x", "flag", "n")
# Python has no times as far away as some that are drawn.
SCALED = tuple(
    sql for sql in CALLS if can_be_scaled(sql) and sql != "COUNT(*)" and "(at" not in sql
)
TIMES = st.integers(-3, 3).map(lambda slice_number: slice_number * joins.SLICE_US)
_FEW: dict[str, tuple[Any, ...]] = {
    **VALUES,
    "k": (None, "a", "b"),
    "t": (None, 0, 1),
    "n": (None, 0, 1, -7),
    "big": (None, 1, 2**63 - 1, -(2**63)),
    "x": (None, 0.0, -0.0, 1.0, float("nan")),
    "f": (None, 0.0, 1.0, float("nan")),
}
ROWS = st.fixed_dictionaries(
    {
        "ts": st.integers(-3000, 2999),
        **{name: st.sampled_from(values) for name, values in _FEW.items()},
    }
)


@st.composite
def sides_of(
    draw: st.DrawFn, flags: tuple[int, ...], columns: tuple[tuple[str, ...], ...]
) -> list[RandomSide]:
    drawn = []
    for number, flag in enumerate(flags):
        rows = tuple(draw(st.lists(ROWS, max_size=5)))
        others = tuple(draw(st.lists(st.sampled_from(GROUPED), max_size=2, unique=True)))
        chosen = draw(st.lists(st.sampled_from(SCALED), max_size=2, unique=True))
        calls = tuple(map(call_of, chosen))
        read_by = tuple(draw(st.sampled_from((1, 1, 2, 3))) for _ in rows)
        key = tuple(names[number] for names in columns)
        drawn.append(RandomSide(key, flag, others, calls, rows, read_by))
    return drawn


@st.composite
def groups_of(
    draw: st.DrawFn, sides: list[RandomSide], key: tuple[Type, ...], in_from: list[int]
) -> tuple[tuple[tuple[SidePlace, ...], ...], tuple[Type, ...]]:
    """Keys of the query: what a side has, or a key of the join wherever it is first."""
    groups: list[tuple[SidePlace, ...]] = []
    kinds: list[Type] = []
    for _ in range(draw(st.integers(0, 3))):
        side = draw(st.sampled_from(in_from))
        if key and draw(st.sampled_from((True, False))):
            groups.append(tuple(SidePlace(each, 0) for each in in_from))
            kinds.append(key[0])
        elif sides[side].kinds:
            place = draw(st.integers(0, len(sides[side].kinds) - 1))
            groups.append((SidePlace(side, place),))
            kinds.append(sides[side].kinds[place])
    return tuple(groups), tuple(kinds)


LOOK = st.tuples(st.sampled_from((0, 0, 1, -1)), TIMES, TIMES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("in_parts", [False, True])
@settings(max_examples=25)
@given(data=st.data())
def test_joins_equal_every_row_beside_every_other(
    kind: str, in_parts: bool, data: st.DataObject
) -> None:
    terms, flags = KINDS[kind]
    compared = data.draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    key = tuple(kind for _, (kind,) in compared)
    sides = data.draw(sides_of(flags, tuple(names for names, _ in compared)))
    in_from = sorted({side for term in terms for side in term.sides})
    groups, kinds = data.draw(groups_of(sides, key, in_from))
    calls: list[AggregateCall] = [call_of("COUNT(*)")]
    places: list[SidePlace | None] = [None]
    for side in in_from:
        calls += sides[side].calls
        places += [SidePlace(side, place) for place in range(len(sides[side].calls))]
    calls, places = _one_side_each(calls, places)
    join = joins.join_of(terms, key, sides, groups, tuple(places))
    looks = data.draw(st.lists(st.tuples(*(LOOK for _ in sides)), min_size=1, max_size=3))
    with pytest.MonkeyPatch.context() as patched:
        if in_parts:
            patched.setattr(sparse, "MOST_ROWS", 3)
            for bound in ("MOST_CELLS", "MOST_KEYED", "MOST_TOTALLED", "BLOCK_CELLS"):
                patched.setattr(dense, bound, 3)
        by_layout = [
            joins.kernel_groups(join, kinds, calls, sides, looks, layout) for layout in LAYOUTS
        ]
    expected = _plain_groups(join, kinds, calls, sides, looks)
    event("rows" if any(expected.values()) else "none")
    for found in by_layout:
        assert found.keys() == {look for look, of_look in expected.items() if of_look}
    for look, of_look in chain(*(found.items() for found in by_layout)):
        mine = {_keyed(key, kinds): values for key, values in of_look.items()}
        assert mine.keys() == expected[look].keys()
        for group, values in mine.items():
            for call, value, want in zip(calls, values, expected[look][group], strict=True):
                assert _same(value, want), f"{call.sql} of {group}: {value}, expected {want}"


def _one_side_each(
    calls: list[AggregateCall], places: list[SidePlace | None]
) -> tuple[list[AggregateCall], list[SidePlace | None]]:
    """One call of two sides would be one lane here: in a query their columns have two names."""
    side_of: dict[Any, int | None] = {}
    chosen: dict[str, tuple[AggregateCall, SidePlace | None]] = {}
    for call, place in zip(calls, places, strict=True):
        side = None if place is None else place.side
        if all(side_of.setdefault(lane, side) == side for lane in lanes_behind(call)):
            chosen.setdefault(call.sql, (call, place))
    return [call for call, _ in chosen.values()], [place for _, place in chosen.values()]


def _plain_groups(
    join: WindowJoin,
    kinds: tuple[Type, ...],
    calls: list[AggregateCall],
    sides: list[RandomSide],
    looks: list[Any],
) -> dict[int, dict[tuple[Any, ...], tuple[Any, ...]]]:
    windows = [
        [side.plain(*look) for side, look in zip(sides, looked, strict=True)] for looked in looks
    ]
    return {number: joined_groups(join, kinds, calls, rows) for number, rows in enumerate(windows)}


def _keyed(key: tuple[Any, ...], kinds: tuple[Type, ...]) -> tuple[Any, ...]:
    return tuple(group_key(value, kind) for value, kind in zip(key, kinds, strict=True))


def _same(value: Any, want: Any) -> bool:
    if isinstance(value, list) and isinstance(want, list):
        return len(value) == len(want) and all(map(_same, value, want))
    if isinstance(value, dict) and isinstance(want, dict):
        return all(_same(value[name], want[name]) for name in want)
    if isinstance(want, date):
        return bool(value == (want - date(1970, 1, 1)).days or value == want)
    if isinstance(value, float) or isinstance(want, float):
        return value is not None and want is not None and same(float(value), float(want))
    return bool(value == want)
