"""SELECT … FROM stream [window] … LIMIT n: from tokens to a `Select`."""

from __future__ import annotations

from sqlglot import exp

from tidemill.errors import Place, refuse
from tidemill.language.cursor import Cursor
from tidemill.language.join_clause import parse_joins, refuse_other_relations
from tidemill.language.not_built import refuse_not_built
from tidemill.language.statements import Expr, OrderItem, Select, SelectItem, Window
from tidemill.language.window_clause import parse_window

_SETS = ("UNION", "INTERSECT", "EXCEPT", "MINUS")
_TRAILING = {
    **dict.fromkeys(_SETS, "a set operation"),
    "OFFSET": "OFFSET",
    "QUALIFY": "QUALIFY",
}


def parse_select(cursor: Cursor) -> Select:
    """The SELECT that comes next, up to the end of the statement."""
    start = cursor.index
    cursor.expect("SELECT")
    if cursor.at("DISTINCT"):
        refuse_not_built("SELECT DISTINCT", cursor.text, cursor.here)
    cursor.take("ALL")
    items = cursor.separated(lambda: _parse_item(cursor))
    cursor.expect("FROM")
    stream_index = cursor.index
    stream, window, alias = _parse_from(cursor)
    joins = parse_joins(cursor)
    refuse_other_relations(cursor)
    return Select(
        items,
        stream,
        alias,
        window,
        where=cursor.expression() if cursor.take("WHERE") else None,
        group_by=_parse_group_by(cursor),
        having=cursor.expression() if cursor.take("HAVING") else None,
        order_by=_parse_order_by(cursor),
        limit=_parse_limit(cursor),
        joins=joins,
        place=cursor.since(start),
        stream_place=_one_token(cursor, stream_index),
    )


def _one_token(cursor: Cursor, index: int) -> Place:
    token = cursor.tokens[index]
    return Place(token.start, token.end + 1)


def _parse_item(cursor: Cursor) -> SelectItem:
    start = cursor.index
    expr = cursor.expression()
    if isinstance(expr.source, exp.Star):
        refuse_not_built("SELECT *", cursor.text, expr.place)
    named = cursor.take("AS") or cursor.name_ahead()
    alias = cursor.name("a name after AS") if named else None
    return SelectItem(expr, alias, place=cursor.since(start))


def _parse_from(cursor: Cursor) -> tuple[str, Window, str | None]:
    refuse_other_relations(cursor)
    stream = cursor.name("the name of a stream")
    _refuse_early_alias(cursor)
    refuse_other_relations(cursor)
    window = parse_window(cursor)
    alias = cursor.name("an alias") if cursor.take("AS") or cursor.name_ahead() else None
    return stream, window, alias


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
    if called or cursor.at("ALL") or cursor.at("GROUPING", "SETS") or cursor.at("WITH"):
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
