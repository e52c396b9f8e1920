"""SELECT and its clauses: from tokens to a `Select`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from sqlglot import exp

from tidemill.errors import Place, refuse
from tidemill.language.cursor import Cursor
from tidemill.language.membership import parse_where
from tidemill.language.not_built import refuse_not_built
from tidemill.language.relations import (
    parse_alias,
    parse_from,
    parse_joins,
    parse_length,
    refuse_other_relations,
)
from tidemill.language.select_head import check_head, parse_head
from tidemill.language.statements import (
    Emit,
    Expr,
    OrderItem,
    Select,
    SelectItem,
    Subquery,
    Window,
)

_Item = TypeVar("_Item")
SETS = ("UNION", "INTERSECT", "EXCEPT", "MINUS")
_TRAILING = {
    **dict.fromkeys(SETS, "a set operation"),
    "OFFSET": "OFFSET",
    "QUALIFY": "QUALIFY",
}
_NO_ALIAS = "EMIT begins a clause; as an alias it needs AS before it"
_EVERY_FORM = "write EMIT EVERY d, for example EMIT EVERY 10 SECONDS"
_EMIT_FORM = "write EMIT ON CLOSE, EMIT EVERY d, EMIT EMPTY WINDOWS, or several with commas"


def parse_select(cursor: Cursor) -> Select:
    """The SELECT that comes next, up to the end of the statement."""
    start = cursor.index
    head = parse_head(cursor, _parse_select_item)
    cursor.expect("FROM", hint=_NO_ALIAS if cursor.at("EMIT") else "")
    stream, stream_place, window, alias = parse_from(cursor)
    _refuse_star(head.items, window, cursor.text)
    joins = parse_joins(cursor)
    refuse_other_relations(cursor)
    where, subqueries = _parse_where(cursor)
    select = Select(
        head.items,
        stream,
        alias,
        window,
        where=where,
        group_by=_parse_group_by(cursor),
        having=cursor.expression() if cursor.take("HAVING") else None,
        order_by=_parse_order_by(cursor),
        limit=_parse_limit(cursor),
        emit=_parse_emit(cursor),
        joins=joins,
        subqueries=subqueries,
        delta=head.delta,
        distinct=head.distinct,
        place=cursor.since(start),
        stream_place=stream_place,
        delta_place=head.delta_place,
    )
    check_head(head, select, cursor.text)
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
    check_head(head, None, cursor.text)
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


def _refuse_star(items: Sequence[SelectItem], window: Window | None, text: str) -> None:
    """All columns can be had of rows alone, and as they are."""
    for item in items:
        is_plain = item.expr.sql == "*" and item.alias is None and window is None
        if isinstance(item.expr.source, exp.Star) and not is_plain:
            refuse_not_built(
                "SELECT * over a window" if window else "SELECT * with words", text, item.place
            )


def _parse_where(cursor: Cursor) -> tuple[Expr | None, tuple[Subquery, ...]]:
    """Most conditions are about rows alone, and are one expression."""
    if cursor.has_ahead("SELECT"):
        return parse_where(cursor)
    return cursor.expression() if cursor.take("WHERE") else None, ()


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
        return "EVERY", parse_length(cursor, "EVERY", _EVERY_FORM)[0]
    cursor.fail("ON CLOSE, EVERY or EMPTY WINDOWS", hint=_EMIT_FORM)


def _fail_emit(cursor: Cursor, primary: str, hint: str, place: Place) -> NoReturn:
    refuse("E_EMIT", primary, hint=hint, text=cursor.text, place=place)
