"""What FROM reads: a stream, its window, and the tables and windows joined to it."""

from __future__ import annotations

import re
from typing import NoReturn

from tidemill.durations import parse_duration_at, render_duration
from tidemill.errors import Place, refuse
from tidemill.language.cursor import Cursor
from tidemill.language.names import SIDES
from tidemill.language.not_built import refuse_not_built
from tidemill.language.statements import (
    Expr,
    JoinClause,
    Window,
)

_DURATION_STOPS = ("SLIDE", "START", "INTERNAL", ",", "]", "[", "WITH")
# [NOW]: a row at its own instant, and no later.
NOW_US = 1
_COMMENT = re.compile(r"--[^\n\r]*|/\*.*?\*/", re.S)
_WINDOW_FORM = "write [RANGE r SLIDE s], for example [RANGE 30 SECONDS SLIDE 5 SECONDS]"
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
    window = _parse_window(cursor) if cursor.at("[") else None
    _refuse_bare_window(cursor)
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


def _refuse_bare_window(cursor: Cursor) -> None:
    """`FROM s RANGE 5 SECONDS`: else the word would be taken for an alias."""
    if cursor.word() in ("RANGE", "WINDOW") and cursor.word(1)[:1] in tuple("0123456789'"):
        _fail(cursor, "a window stands in brackets", _WINDOW_FORM, cursor.here)


def _parse_window(cursor: Cursor) -> Window:
    """The window that comes next; refuses what is no window or not built."""
    opening = cursor.index
    cursor.expect("[")
    if cursor.take("NOW"):
        cursor.expect("]", hint=_WINDOW_FORM)
        return Window(NOW_US, 0, is_soft=True, place=cursor.since(opening))
    _parse_range_word(cursor)
    range_us, *others_us = _parse_ranges(cursor)
    slide_us, is_soft = _parse_slide(cursor)
    start_us = _parse_start(cursor, slide_us, is_soft)
    if cursor.at("INTERNAL"):
        refuse_not_built("INTERNAL", cursor.text, cursor.here)
    cursor.expect("]", hint=_WINDOW_FORM)
    place = cursor.since(opening)
    return Window(range_us, slide_us, start_us, tuple(others_us), is_soft, place=place)


def _parse_range_word(cursor: Cursor) -> None:
    if cursor.at("ROWS"):
        refuse_not_built("a window by rows", cursor.text, cursor.here)
    if cursor.at("PARTITION BY"):
        refuse_not_built("PARTITION BY in a window", cursor.text, cursor.here)
    if not cursor.take_any(("RANGE", "WINDOW")):
        cursor.fail("RANGE", code="E_WINDOW", hint=_WINDOW_FORM)


def _parse_ranges(cursor: Cursor) -> list[int]:
    """One length or several; of equal ones the second would only repeat its answers."""
    ranges_us: list[int] = []
    for range_us, place in cursor.separated(lambda: parse_length(cursor, "RANGE")):
        if range_us in ranges_us:
            primary = f"the range {render_duration(range_us)} is given twice"
            _fail(cursor, primary, "each length is answered once; leave one out", place)
        ranges_us.append(range_us)
    return ranges_us


def _parse_slide(cursor: Cursor) -> tuple[int, bool]:
    """The slide, and whether it is soft; a range alone is refreshed with every update."""
    if cursor.at("]"):
        return 0, True
    if not cursor.take("SLIDE"):
        cursor.fail("SLIDE", code="E_WINDOW", hint=_WINDOW_FORM)
    is_soft = cursor.take("UP", "TO")
    return parse_length(cursor, "SLIDE UP TO" if is_soft else "SLIDE")[0], is_soft


def _parse_start(cursor: Cursor, slide_us: int, is_soft: bool) -> int:
    place = cursor.here
    if not cursor.take("START"):
        return 0
    if is_soft:
        hint = "windows of a soft period end at the stream's updates; leave START out"
        _fail(cursor, "a soft period has no START", hint, place)
    start_us, place = _duration(cursor, "START")
    if abs(start_us) >= slide_us:
        _fail(cursor, "START must be shorter than SLIDE", "take the remainder by SLIDE", place)
    return start_us


def parse_length(cursor: Cursor, clause: str, hint: str = _WINDOW_FORM) -> tuple[int, Place]:
    us, place = _duration(cursor, clause)
    if us <= 0:
        problem = "zero" if us == 0 else "negative"
        primary = f"{clause} cannot be {problem}"
        refuse("E_DURATION", primary, hint=hint, text=cursor.text, place=place)
    return us, place


def _duration(cursor: Cursor, clause: str) -> tuple[int, Place]:
    cursor.take("BY")
    first = cursor.index
    raw = _COMMENT.sub(" ", cursor.until(_DURATION_STOPS))
    if not raw:
        hint = "a number and a unit, for example 5 SECONDS"
        cursor.fail(f"a duration after {clause}", code="E_DURATION", hint=hint)
    place = cursor.since(first)
    return parse_duration_at(raw, cursor.text, place), place


def _fail(cursor: Cursor, primary: str, hint: str, place: Place) -> NoReturn:
    refuse("E_WINDOW", primary, hint=hint, text=cursor.text, place=place)
