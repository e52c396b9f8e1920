"""The SELECT of a derived stream: rows with other columns, without a window.

>>> from tidemill.language.expressions.trees import tokenize
>>> text = "SELECT ts, length * 8 AS bits FROM packets WHERE length > 1000"
>>> parse_row_select(Cursor(tokenize(text), text)).stream
'packets'
"""

from __future__ import annotations

from tidemill.language.cursor import Cursor
from tidemill.language.not_built import refuse_not_built
from tidemill.language.select import (
    SETS,
    at_qualified_star,
    one_token,
    parse_alias,
    parse_item,
    parse_joins,
    parse_select_list,
    refuse_other_relations,
)
from tidemill.language.statements import RowSelect, SelectItem, Star

_GROUPED = ("GROUP BY", "HAVING", "EMIT")
_LATER = {
    **dict.fromkeys(SETS, "a union of streams"),
    **dict.fromkeys(("ORDER BY", "SORT BY"), "an order of rows in a stream"),
    **dict.fromkeys(("LIMIT", "OFFSET"), "LIMIT or OFFSET in a stream"),
    "QUALIFY": "QUALIFY",
    "WITH": "WITH on a derived stream",
}


def parse_row_select(cursor: Cursor) -> RowSelect:
    """The SELECT that comes next, up to the end of the statement."""
    start = cursor.index
    items = parse_select_list(cursor, _parse_row_item)
    cursor.expect("FROM")
    refuse_other_relations(cursor)
    stream_index = cursor.index
    stream = cursor.name("the name of a stream")
    _refuse_window(cursor)
    alias = parse_alias(cursor, "an alias")
    _refuse_window(cursor)
    joins = parse_joins(cursor)
    refuse_other_relations(cursor)
    where = cursor.expression() if cursor.take("WHERE") else None
    _refuse_rest(cursor)
    place, stream_place = cursor.since(start), one_token(cursor, stream_index)
    return RowSelect(items, stream, alias, where, joins, place=place, stream_place=stream_place)


def _parse_row_item(cursor: Cursor) -> SelectItem | Star:
    start = cursor.index
    if cursor.take("*"):
        return Star(place=cursor.since(start))
    if at_qualified_star(cursor):
        qualifier = cursor.name("a name")
        cursor.expect(".", "*")
        return Star(qualifier, place=cursor.since(start))
    return parse_item(cursor)


def _refuse_window(cursor: Cursor) -> None:
    if cursor.at("["):
        refuse_not_built("a stream of answers", cursor.text, cursor.here)


def _refuse_rest(cursor: Cursor) -> None:
    """Refuses the clauses of other SELECTs."""
    if cursor.word() in _GROUPED:
        refuse_not_built("a stream of answers", cursor.text, cursor.here)
    if cursor.word() in _LATER:
        refuse_not_built(_LATER[cursor.word()], cursor.text, cursor.here)
