"""What FROM reads: a stream, its window, and the tables and windows joined to it."""

from __future__ import annotations

from tidemill.errors import Place, refuse
from tidemill.language.cursor import Cursor
from tidemill.language.names import SIDES
from tidemill.language.not_built import refuse_not_built
from tidemill.language.statements import (
    Expr,
    JoinClause,
    Window,
)
from tidemill.language.window import parse_window, refuse_bare_window

_JOIN_STARTS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI")
_JOIN_FORM = "JOIN table [AS alias] ON stream.column = table.column, or USING (column)"
# Kinds that a table can be joined by; all others are for windows.
TABLE_KINDS = ("INNER", "LEFT")
UNCONDITIONAL = ("CROSS", ",")


def parse_from(cursor: Cursor) -> tuple[str, Place, Window | None, str | None]:
    """The stream that FROM begins with, its place, its window and its alias."""
    refuse_other_relations(cursor)
    stream, place = parse_stream(cursor)
    window = _parse_own_window(cursor)
    return stream, place, window, parse_alias(cursor, "an alias")


def parse_stream(cursor: Cursor, what: str = "the name of a stream") -> tuple[str, Place]:
    """The name of a stream and its place: `packets`, or what it sets aside, as `packets.late`."""
    start = cursor.index
    name = cursor.name(what)
    if cursor.take("."):
        side = cursor.name(" or ".join(SIDES))
        name = f"{name}.{side.lower() if side.lower() in SIDES else side}"
    return name, cursor.since(start)


def parse_alias(cursor: Cursor, what: str) -> str | None:
    """EMIT begins a clause; it is an alias only after AS."""
    is_named = cursor.take("AS") or (cursor.name_ahead() and not cursor.at("EMIT"))
    return cursor.name(what) if is_named else None


def refuse_other_relations(cursor: Cursor) -> None:
    """Refuses what other dialects allow in FROM."""
    if cursor.at("("):
        refuse_not_built("a subquery", cursor.text, cursor.here)
    if cursor.at("LATERAL"):
        refuse_not_built("LATERAL", cursor.text, cursor.here)


def parse_joins(cursor: Cursor) -> tuple[JoinClause, ...]:
    """What is joined next, if anything: tables, and windows of streams."""
    joins = []
    while cursor.word() in _JOIN_STARTS or cursor.at(","):
        joins.append(_parse_join(cursor))
    return tuple(joins)


def refuse_windows(joins: tuple[JoinClause, ...], text: str) -> None:
    """Refuses joins of streams where there are rows and no windows."""
    for join in joins:
        if join.window is not None:
            refuse_not_built("a JOIN of windows in a stream of rows", text, join.window.place)


def _parse_own_window(cursor: Cursor) -> Window | None:
    _refuse_early_alias(cursor)
    refuse_other_relations(cursor)
    window = parse_window(cursor) if cursor.at("[") else None
    refuse_bare_window(cursor)
    return window


def _refuse_early_alias(cursor: Cursor) -> None:
    """`FROM s AS p [RANGE …]`: the window belongs to the stream and stands before the alias."""
    skip = 1 if cursor.at("AS") else 0
    if cursor.word(skip + 1) == "[":
        hint = "the alias stands after the window: FROM stream [RANGE r SLIDE s] AS alias"
        place = cursor.here
        refuse("E_SYNTAX", "an alias before the window", hint=hint, text=cursor.text, place=place)


def _parse_join(cursor: Cursor) -> JoinClause:
    kind_place = cursor.here
    kind = _parse_kind(cursor)
    refuse_other_relations(cursor)
    name, place = parse_stream(cursor, "the name of a table or a stream")
    window = _parse_own_window(cursor)
    if window is None and kind == ",":
        refuse_not_built("a query over several streams", cursor.text, kind_place)
    if window is None and kind not in TABLE_KINDS:
        refuse_not_built(f"{kind} JOIN of a table", cursor.text, kind_place)
    alias = parse_alias(cursor, "an alias")
    start = cursor.index + 1
    on, using = _parse_condition(cursor, kind)
    condition = cursor.since(start) if on is not None or using else None
    return JoinClause(kind, name, alias, on, using, window, place=place, condition_place=condition)


def _parse_kind(cursor: Cursor) -> str:
    """The kind in canonical words; a comma is a kind of its own."""
    if cursor.take(","):
        return ","
    if cursor.at("NATURAL"):
        refuse_not_built("NATURAL JOIN", cursor.text, cursor.here)
    kind = cursor.take_any(("INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI"))
    if kind == "LEFT" and (half := cursor.take_any(("SEMI", "ANTI"))):
        kind = half
    elif kind in ("LEFT", "RIGHT", "FULL"):
        cursor.take("OUTER")
    cursor.expect("JOIN", hint=_JOIN_FORM)
    return f"LEFT {kind}" if kind in ("SEMI", "ANTI") else kind or "INNER"


def _parse_condition(cursor: Cursor, kind: str) -> tuple[Expr | None, tuple[str, ...]]:
    if kind in UNCONDITIONAL:
        return None, ()
    if cursor.take("ON"):
        return cursor.expression(), ()
    if not cursor.take("USING"):
        cursor.fail("ON or USING", hint=_JOIN_FORM)
    return None, _parse_using(cursor)


def _parse_using(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(", hint=_JOIN_FORM)
    names = cursor.separated(lambda: cursor.name("the name of a column"))
    cursor.expect(")", hint=_JOIN_FORM)
    return names
