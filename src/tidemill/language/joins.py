"""What FROM reads beside its stream: the joins of tables, and what is refused there."""

from __future__ import annotations

from tidemill.errors import Place
from tidemill.language.cursor import Cursor
from tidemill.language.not_built import refuse_not_built
from tidemill.language.statements import Expr, JoinClause

_JOIN_STARTS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI")
_REFUSED_JOINS = ("RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI")
_JOIN_FORM = "JOIN table [AS alias] ON stream.column = table.column, or USING (column)"


def one_token(cursor: Cursor, index: int) -> Place:
    """The place of a token."""
    token = cursor.tokens[index]
    return Place(token.start, token.end + 1)


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
    alias = cursor.name("an alias") if cursor.take("AS") or cursor.name_ahead() else None
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
