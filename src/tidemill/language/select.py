"""SELECT and its clauses, the window and the joins among them: from tokens to a `Select`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from sqlglot import exp

from tidemill.durations import parse_duration_at, render_duration
from tidemill.errors import Place, refuse
from tidemill.language.cursor import Cursor
from tidemill.language.names import SIDES
from tidemill.language.not_built import refuse_not_built
from tidemill.language.select_head import check_head, parse_head
from tidemill.language.statements import (
    ON_CLOSE,
    Emit,
    Expr,
    JoinClause,
    OrderItem,
    Select,
    SelectItem,
    Window,
)

_Item = TypeVar("_Item")
SETS = ("UNION", "INTERSECT", "EXCEPT", "MINUS")
_TRAILING = {
    **dict.fromkeys(SETS, "a set operation"),
    "OFFSET": "OFFSET",
    "QUALIFY": "QUALIFY",
}
_DURATION_STOPS = ("SLIDE", "START", "INTERNAL", ",", "]", "[", "WITH")
_NO_ALIAS = "EMIT begins a clause; as an alias it needs AS before it"
_EVERY_FORM = "write EMIT EVERY d, for example EMIT EVERY 10 SECONDS"
_EMIT_FORM = "write EMIT ON CLOSE, EMIT EVERY d, EMIT EMPTY WINDOWS, or several with commas"
_COMMENT = re.compile(r"--[^\n\r]*|/\*.*?\*/", re.S)
_WINDOW_FORM = "write [RANGE r SLIDE s], for example [RANGE 30 SECONDS SLIDE 5 SECONDS]"
_JOIN_STARTS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI")
_REFUSED_JOINS = ("RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI")
_JOIN_FORM = "JOIN table [AS alias] ON stream.column = table.column, or USING (column)"


def parse_select(cursor: Cursor) -> Select:
    """The SELECT that comes next, up to the end of the statement."""
    start = cursor.index
    head = parse_head(cursor, _parse_select_item)
    cursor.expect("FROM", hint=_NO_ALIAS if cursor.at("EMIT") else "")
    stream, stream_place, window, alias = _parse_from(cursor)
    _refuse_star(head.items, window, cursor.text)
    joins = parse_joins(cursor)
    refuse_other_relations(cursor)
    select = Select(
        head.items,
        stream,
        alias,
        window,
        where=cursor.expression() if cursor.take("WHERE") else None,
        group_by=_parse_group_by(cursor),
        having=cursor.expression() if cursor.take("HAVING") else None,
        order_by=_parse_order_by(cursor),
        limit=_parse_limit(cursor),
        emit=_parse_emit(cursor),
        joins=joins,
        delta=head.delta,
        distinct=head.distinct,
        place=cursor.since(start),
        stream_place=stream_place,
        delta_place=head.delta_place,
    )
    check_head(head, window, select.emit, cursor.text)
    return select


def reads_window(cursor: Cursor) -> bool:
    """True if the SELECT ahead reads a window: a bracket follows the name after its FROM."""
    depth = 0
    for ahead in range(len(cursor.tokens) - cursor.index):
        word = cursor.word(ahead)
        if word == "FROM" and depth == 0 and cursor.word(ahead - 1) != "DISTINCT":
            is_side = cursor.word(ahead + 2) == "."
            return cursor.word(ahead + (4 if is_side else 2)) == "["
        depth += (word in ("(", "[")) - (word in (")", "]"))
    return False


def parse_select_list(cursor: Cursor, parse: Callable[[Cursor], _Item]) -> tuple[_Item, ...]:
    """SELECT and the items after it, where there are no windows."""
    head = parse_head(cursor, parse)
    check_head(head, None, ON_CLOSE, cursor.text)
    return head.items


def parse_item(cursor: Cursor) -> SelectItem:
    """The item of a select list that comes next."""
    start = cursor.index
    expr = cursor.expression()
    alias = parse_alias(cursor, "a name after AS")
    return SelectItem(expr, alias, place=cursor.since(start))


def at_qualified_star(cursor: Cursor) -> bool:
    """True if all columns of one part of FROM come next."""
    return cursor.name_ahead() and cursor.word(1) == "." and cursor.word(2) == "*"


def _parse_select_item(cursor: Cursor) -> SelectItem:
    if at_qualified_star(cursor):
        refuse_not_built("SELECT alias.*", cursor.text, cursor.here)
    return parse_item(cursor)


def parse_alias(cursor: Cursor, what: str) -> str | None:
    """EMIT begins a clause; it is an alias only after AS."""
    is_named = cursor.take("AS") or (cursor.name_ahead() and not cursor.at("EMIT"))
    return cursor.name(what) if is_named else None


def _refuse_star(items: Sequence[SelectItem], window: Window | None, text: str) -> None:
    """All columns can be had of rows alone, and as they are."""
    for item in items:
        is_plain = item.expr.sql == "*" and item.alias is None and window is None
        if isinstance(item.expr.source, exp.Star) and not is_plain:
            refuse_not_built(
                "SELECT * over a window" if window else "SELECT * with words", text, item.place
            )


def _parse_from(cursor: Cursor) -> tuple[str, Place, Window | None, str | None]:
    refuse_other_relations(cursor)
    stream, place = parse_stream(cursor)
    _refuse_early_alias(cursor)
    refuse_other_relations(cursor)
    window = _parse_window(cursor) if cursor.at("[") else None
    _refuse_bare_window(cursor)
    return stream, place, window, parse_alias(cursor, "an alias")


def parse_stream(cursor: Cursor, what: str = "the name of a stream") -> tuple[str, Place]:
    """The name of a stream and its place: `packets`, or what it sets aside, as `packets.late`."""
    start = cursor.index
    name = cursor.name(what)
    if cursor.take("."):
        side = cursor.name(" or ".join(SIDES))
        name = f"{name}.{side.lower() if side.lower() in SIDES else side}"
    return name, cursor.since(start)


def _refuse_early_alias(cursor: Cursor) -> None:
    """`FROM s AS p [RANGE …]`: the window belongs to the stream and stands before the alias."""
    skip = 1 if cursor.at("AS") else 0
    if cursor.word(skip + 1) == "[":
        hint = "the alias stands after the window: FROM stream [RANGE r SLIDE s] AS alias"
        place = cursor.here
        refuse("E_SYNTAX", "an alias before the window", hint=hint, text=cursor.text, place=place)


def _parse_group_by(cursor: Cursor) -> tuple[Expr, ...]:
    if not cursor.take("GROUP BY"):
        return ()
    _refuse_grouping(cursor)
    keys = cursor.separated(cursor.expression)
    _refuse_grouping(cursor)
    return keys


def _refuse_grouping(cursor: Cursor) -> None:
    called = cursor.word() in ("ROLLUP", "CUBE") and cursor.word(1) == "("
    is_with = cursor.at("WITH") and not cursor.at("WITH", "(")
    if called or cursor.at("ALL") or cursor.at("GROUPING", "SETS") or is_with:
        refuse_not_built("a grouping set", cursor.text, cursor.here)


def _parse_order_by(cursor: Cursor) -> tuple[OrderItem, ...]:
    return cursor.separated(lambda: _parse_order_item(cursor)) if cursor.take("ORDER BY") else ()


def _parse_order_item(cursor: Cursor) -> OrderItem:
    start = cursor.index
    expr = cursor.expression()
    descending = cursor.take_any(("ASC", "DESC")) == "DESC"
    # Spark puts NULLs first going up and last going down unless told.
    first = not descending
    if cursor.take("NULLS"):
        first = cursor.expect_any(("FIRST", "LAST")) == "FIRST"
    return OrderItem(expr, descending, first, place=cursor.since(start))


def _parse_limit(cursor: Cursor) -> int | None:
    limit = _limit_value(cursor) if cursor.at("LIMIT") and not cursor.at("LIMIT", "DELAY") else None
    if cursor.at("LIMIT", "DELAY"):
        refuse_not_built("LIMIT DELAY", cursor.text, cursor.here)
    if cursor.word() in _TRAILING:
        refuse_not_built(_TRAILING[cursor.word()], cursor.text, cursor.here)
    return limit


def _limit_value(cursor: Cursor) -> int:
    cursor.expect("LIMIT")
    digits = cursor.word()
    if not (digits.isascii() and digits.isdigit()):
        cursor.fail("a whole number that is not negative after LIMIT")
    cursor.index += 1
    return int(digits)


def _parse_emit(cursor: Cursor) -> Emit:
    """When answers come; as windows close unless told."""
    start = cursor.index
    if not cursor.take("EMIT"):
        return Emit()
    parts = cursor.separated(lambda: _parse_emit_part(cursor))
    place = cursor.since(start)
    kinds = [kind for kind, _ in parts]
    for kind in kinds:
        if kinds.count(kind) > 1:
            _fail_emit(cursor, f"{kind} is given twice", _EMIT_FORM, place)
    if "ON CLOSE" in kinds and "EVERY" in kinds:
        hint = "EMIT EVERY answers windows as they close, too; leave ON CLOSE out"
        _fail_emit(cursor, "ON CLOSE and EVERY exclude each other", hint, place)
    return Emit(dict(parts).get("EVERY", 0), "EMPTY WINDOWS" in kinds, place=place)


def _parse_emit_part(cursor: Cursor) -> tuple[str, int]:
    """The kind of a part, and a length of time with it."""
    if cursor.take("ON"):
        cursor.expect("CLOSE", hint=_EMIT_FORM)
        return "ON CLOSE", 0
    if cursor.take("EMPTY"):
        cursor.expect("WINDOWS", hint=_EMIT_FORM)
        return "EMPTY WINDOWS", 0
    if cursor.take("EVERY"):
        return "EVERY", _length(cursor, "EVERY", _EVERY_FORM)[0]
    cursor.fail("ON CLOSE, EVERY or EMPTY WINDOWS", hint=_EMIT_FORM)


def _fail_emit(cursor: Cursor, primary: str, hint: str, place: Place) -> NoReturn:
    refuse("E_EMIT", primary, hint=hint, text=cursor.text, place=place)


def _refuse_bare_window(cursor: Cursor) -> None:
    """`FROM s RANGE 5 SECONDS`: else the word would be taken for an alias."""
    if cursor.word() in ("RANGE", "WINDOW") and cursor.word(1)[:1] in tuple("0123456789'"):
        _fail(cursor, "a window stands in brackets", _WINDOW_FORM, cursor.here)


def _parse_window(cursor: Cursor) -> Window:
    """The window that comes next; refuses what is no window or not built."""
    opening = cursor.index
    cursor.expect("[")
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
    for range_us, place in cursor.separated(lambda: _length(cursor, "RANGE")):
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
    return _length(cursor, "SLIDE UP TO" if is_soft else "SLIDE")[0], is_soft


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


def _length(cursor: Cursor, clause: str, hint: str = _WINDOW_FORM) -> tuple[int, Place]:
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


def parse_joins(cursor: Cursor) -> tuple[JoinClause, ...]:
    """The joins that come next, if any; refuses the kinds that are not built."""
    joins = []
    while cursor.word() in _JOIN_STARTS:
        joins.append(_parse_join(cursor))
    return tuple(joins)


def refuse_other_relations(cursor: Cursor) -> None:
    """Refuses what other dialects allow in FROM."""
    if cursor.at("("):
        refuse_not_built("a subquery", cursor.text, cursor.here)
    if cursor.at(","):
        refuse_not_built("a query over several streams", cursor.text, cursor.here)
    if cursor.at("LATERAL"):
        refuse_not_built("LATERAL", cursor.text, cursor.here)


def _parse_join(cursor: Cursor) -> JoinClause:
    kind = _parse_kind(cursor)
    refuse_other_relations(cursor)
    place = cursor.here
    table = cursor.name("the name of a table")
    _refuse_window(cursor)
    alias = parse_alias(cursor, "an alias")
    _refuse_window(cursor)
    on, using, condition = _parse_condition(cursor)
    return JoinClause(kind, table, alias, on, using, place=place, condition_place=condition)


def _parse_kind(cursor: Cursor) -> str:
    place = cursor.here
    kind = cursor.take_any(("INNER", "LEFT"))
    if kind == "LEFT":
        cursor.take("OUTER")
    if cursor.word() in _REFUSED_JOINS:
        refuse_not_built(f"{cursor.word()} JOIN", cursor.text, place)
    cursor.expect("JOIN", hint=_JOIN_FORM)
    return kind or "INNER"


def _parse_condition(cursor: Cursor) -> tuple[Expr | None, tuple[str, ...], Place]:
    start = cursor.index + 1
    if cursor.take("ON"):
        return cursor.expression(), (), cursor.since(start)
    if not cursor.take("USING"):
        cursor.fail("ON or USING", hint=_JOIN_FORM)
    return None, _parse_using(cursor), cursor.since(start)


def _parse_using(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(", hint=_JOIN_FORM)
    names = cursor.separated(lambda: cursor.name("the name of a column"))
    cursor.expect(")", hint=_JOIN_FORM)
    return names


def _refuse_window(cursor: Cursor) -> None:
    """A window is a stream's: this is a join of two of them."""
    if cursor.at("["):
        refuse_not_built("a JOIN of two streams", cursor.text, cursor.here)
