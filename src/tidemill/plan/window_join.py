"""How windows of several streams meet in one query, key by key, without a row of the join.

Each stream in FROM, or behind EXISTS and IN, is a *side*. What the query says of it are *parts*,
plans of queries over one source: they group by the join key, then by truth values (*flags*), then
by what the query groups by of that side. Rows of the join with one key are products of the rows
of its sides, so the rows of a key are a sum of *terms*: one for each choice of what every side
gives. Inner joins have one term. A left join has two: rows with a partner, and rows of the left
side alone, under the guard that the right one has none.

>>> left = JoinTerm((RowClass(), RowClass()))
>>> alone = JoinTerm((RowClass(), None), (Guard(1, RowClass(), exists=False),))
>>> alone.sides
(0,)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidemill.ids import hash_once
from tidemill.language.statements import Window
from tidemill.types import Type


@dataclass(frozen=True)
class RowClass:
    """The rows of a side whose flags have these values; None: either. Without flags, all rows."""

    flags: tuple[bool | None, ...] = ()


class Among(StrEnum):
    """Where a guard looks for rows."""

    KEY = "key"  # under the same key, which has no NULL in it
    WINDOW = "window"  # anywhere in the side's window
    NULL_KEYS = "null keys"  # under a key with a NULL in it


@dataclass(frozen=True)
class Guard:
    """A condition on a key: a side has such rows, or it has none."""

    side: int
    rows: RowClass
    exists: bool
    among: Among = Among.KEY


@dataclass(frozen=True)
class JoinTerm:
    """Rows of the join that are products of such rows of each side; None: NULLs in their place."""

    rows: tuple[RowClass | None, ...]
    guards: tuple[Guard, ...] = ()

    @property
    def sides(self) -> tuple[int, ...]:
        """Those that give rows."""
        return tuple(side for side, rows in enumerate(self.rows) if rows is not None)


@dataclass(frozen=True)
class JoinSide:
    """One window of the join. Each of its parts has the keys: join key, flags, groups.

    A key with a NULL in it meets no other side. A side that EXISTS or IN looks at gives no rows
    to any term.
    """

    name: str  # as the query calls it
    window: Window  # of its own length; it ends with the windows of the query
    parts: tuple[int, ...]  # places among the parts of the query, one for each branch
    flags: int = 0


@dataclass(frozen=True)
class SidePlace:
    """A key of the parts of a side, or one of their aggregates, by its place there."""

    side: int
    place: int


@hash_once
@dataclass(frozen=True)
class WindowJoin:
    """What a query over several windows says beyond its parts.

    `groups` has a tuple for each key of the query: where its value stands. Of several places, as
    USING gives them, the first whose side gives rows has it. `calls` has a place for each
    aggregate of the query; None for one without arguments, which counts rows of the join.
    """

    key: tuple[Type, ...]  # what the join keys of all sides are widened to
    sides: tuple[JoinSide, ...]
    terms: tuple[JoinTerm, ...]
    groups: tuple[tuple[SidePlace, ...], ...]
    calls: tuple[SidePlace | None, ...]


_ITEM = re.compile(r"(?<!\w)(`?)_s(\d+)_")


def item_prefix(number: int) -> str:
    """What the columns of a part of FROM begin with in the expressions of the whole query."""
    return f"_s{number}_"


def item_number(column: str) -> int | None:
    """The part of FROM after which a column is called; None of other names."""
    match = _ITEM.match(column)
    return None if match is None else int(match[2])


def in_words_of_items(text: str, names: Sequence[str]) -> str:
    """Columns by the names that the query gives to the parts of FROM.

    >>> in_words_of_items("_s0_src = _s1_client", ["f", "d"])
    'f.src = d.client'
    """

    def written(match: re.Match[str]) -> str:
        number = int(match[2])
        return f"{names[number]}.{match[1]}" if number < len(names) else match[0]

    return _ITEM.sub(written, text)
