"""How the windows of a query meet, as lines: instants, the join key, and the rows under a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidemill.durations import render_duration
from tidemill.language.statements import Window
from tidemill.plan.query import QueryPlan
from tidemill.plan.row_join import RowJoin
from tidemill.plan.row_query import RowQuery
from tidemill.plan.window_join import Among, Guard, JoinTerm, RowClass, WindowJoin
from tidemill.types import Type

_PLACES = {Among.KEY: " under the key", Among.WINDOW: "", Among.NULL_KEYS: " under NULL"}


def meeting_lines(plan: QueryPlan, join: WindowJoin) -> Iterator[str]:
    """A line for the instants, for each part of the key, and for each term."""
    yield f"  {'joined':<11}from slices: no row of the join is made"
    yield f"  {'instants':<11}{_instants(plan.window)}"
    names = [side.name for side in join.sides]
    parts = (plan.parts[side.parts[0]] for side in join.sides)
    keys = [[key.scalar.sql for key in part.keys] for part in parts]
    yield from _key_lines(join.key, names, keys)
    for number, term in enumerate(join.terms):
        text = _Terms(names, len(join.key)).text(term)
        yield f"  {'' if number else 'rows':<11}{text}"


def row_meeting_lines(plan: RowQuery, join: RowJoin) -> Iterator[str]:
    """A line for what a result is, for its pattern, and for each part of the key."""
    driver = "first row goes" if join.goes else "youngest row comes"
    yield f"  {'joined':<11}row by row: each result once, as its {driver}"
    yield f"  {'pattern':<11}weak: each result ends when its first row does, known when it comes"
    parts = (plan.parts[side.parts[0]] for side in join.sides)
    keys = [[column.scalar.sql for column in part.columns] for part in parts]
    yield from _key_lines(join.key, [side.name for side in join.sides], keys)


def _key_lines(
    types: Sequence[Type], names: Sequence[str], keys: Sequence[Sequence[str]]
) -> Iterator[str]:
    for place, kind in enumerate(types):
        pairs = (f"{key[place]} of {name}" for key, name in zip(keys, names, strict=True))
        yield f"  {'join key':<11}{kind} = {' = '.join(pairs)}"


def _instants(window: Window) -> str:
    if window.is_soft:
        return "updates that all streams have; all windows end there"
    return f"every {render_duration(window.slide_us)}; all windows end there"


class _Terms:
    """Terms in words; flags are called by the slots of the part that has them."""

    def __init__(self, names: Sequence[str], keys: int) -> None:
        self._names, self._keys = names, keys

    def text(self, term: JoinTerm) -> str:
        sides = (self._rows(side, rows) for side, rows in enumerate(term.rows) if rows is not None)
        guards = [self._guard(guard) for guard in term.guards]
        return f"{' × '.join(sides)}{', if ' if guards else ''}{' and '.join(guards)}"

    def _rows(self, side: int, rows: RowClass) -> str:
        flags = [
            f"{'' if value else 'not '}_k{self._keys + place}"
            for place, value in enumerate(rows.flags)
            if value is not None
        ]
        shown = f" ({', '.join(flags)})" if flags else ""
        return f"{self._names[side]}{shown}"

    def _guard(self, guard: Guard) -> str:
        rows = "rows" if guard.exists else "no rows"
        return f"{self._rows(guard.side, guard.rows)} has {rows}{_PLACES[guard.among]}"
