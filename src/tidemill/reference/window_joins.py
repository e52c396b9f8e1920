"""A join of windows at one instant in the plainest way: every row beside every other.

The slow twin of `answer/joined`: what a term, a guard and a group of a join mean.

>>> rows = [[SideRow(0, (1,)), SideRow(1, (2,))], [SideRow(0, (2,))]]
>>> alone = JoinTerm((RowClass(), None), (Guard(1, RowClass(), exists=False),))
>>> [(left.key, right) for left, right in _rows_of_term(alone, rows, (Type("INT"),))]
[((1,), None)]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from tidemill.aggregates.functions import function_of
from tidemill.plan.query import AggregateCall
from tidemill.plan.window_join import Among, Guard, JoinTerm, RowClass, SidePlace, WindowJoin
from tidemill.types import Type


@dataclass(frozen=True)
class SideRow:
    """A row in the window of a side: its keys there, and what each aggregate of it takes."""

    time_us: int
    key: tuple[Any, ...]  # of the join
    flags: tuple[bool, ...] = ()
    others: tuple[Any, ...] = ()  # what else is grouped by
    arguments: tuple[tuple[Any, ...], ...] = ()

    @property
    def keys(self) -> tuple[Any, ...]:
        return (*self.key, *self.flags, *self.others)


# A row of each side; None: it gives none.
JoinedRow = tuple[SideRow | None, ...]


def joined_groups(
    join: WindowJoin,
    kinds: Sequence[Type],
    calls: Sequence[AggregateCall],
    sides: Sequence[Sequence[SideRow]],
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """By group of the query, of keys of these types, the value of each aggregate."""
    groups: dict[tuple[Any, ...], list[JoinedRow]] = {}
    for row in joined_rows(join, sides):
        key = tuple(
            group_key(_group(places, row), kind)
            for places, kind in zip(join.groups, kinds, strict=True)
        )
        groups.setdefault(key, []).append(row)
    return {
        key: tuple(
            _aggregate(call, place, members) for call, place in zip(calls, join.calls, strict=True)
        )
        for key, members in groups.items()
    }


def joined_rows(join: WindowJoin, sides: Sequence[Sequence[SideRow]]) -> Iterator[JoinedRow]:
    """The rows of the join, term by term."""
    for term in join.terms:
        yield from _rows_of_term(term, sides, join.key)


def _rows_of_term(
    term: JoinTerm, sides: Sequence[Sequence[SideRow]], kinds: Sequence[Type]
) -> Iterator[JoinedRow]:
    for row in product(*(sides[side] for side in term.sides)):
        keys = [join_key(one_side.key, kinds) for one_side in row]
        is_met = len(row) == 1 or (keys[0] is not None and all(key == keys[0] for key in keys))
        classes = (term.rows[side] for side in term.sides)
        if not is_met or not all(map(_is_in_class, row, classes)):
            continue
        if all(_holds(guard, keys[0], sides[guard.side], kinds) for guard in term.guards):
            by_side: Mapping[int, SideRow] = dict(zip(term.sides, row, strict=True))
            yield tuple(by_side.get(side) for side in range(len(sides)))


def _holds(
    guard: Guard, key: tuple[Any, ...] | None, rows: Sequence[SideRow], kinds: Sequence[Type]
) -> bool:
    keys = [join_key(row.key, kinds) for row in rows if _is_in_class(row, guard.rows)]
    if guard.among is Among.WINDOW:
        exists = bool(keys)
    elif guard.among is Among.KEY:
        exists = key is not None and key in keys
    else:
        exists = None in keys
    return exists == guard.exists


def _is_in_class(row: SideRow, rows: RowClass | None) -> bool:
    flags = zip(row.flags, () if rows is None else rows.flags, strict=False)
    return all(value is None or flag == value for flag, value in flags)


def join_key(key: Sequence[Any], kinds: Sequence[Type]) -> tuple[Any, ...] | None:
    """What a key is compared by; None: it has a NULL, and equals no other."""
    if None in key:
        return None
    return tuple(group_key(value, kind) for value, kind in zip(key, kinds, strict=True))


def group_key(value: Any, kind: Type) -> Any:
    """A value as it is compared in a type: NaN equals NaN, and zero has no sign."""
    if value is None or not kind.is_float:
        return value
    number = float(value) + 0.0
    return "NaN" if math.isnan(number) else number


def _group(places: Sequence[SidePlace], row: JoinedRow) -> Any:
    """The value of the first place whose side gives a row."""
    there = ((row[place.side], place.place) for place in places)
    return next((side.keys[place] for side, place in there if side is not None), None)


def _aggregate(call: AggregateCall, place: SidePlace | None, rows: Sequence[JoinedRow]) -> Any:
    if place is None:
        return len(rows)
    behind = (row[place.side] for row in rows)
    pairs = [(row.time_us, row.arguments[place.place]) for row in behind if row is not None]
    return function_of(call).reference(call, pairs, (0, 1))
