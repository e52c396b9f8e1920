"""The SELECT of a derived stream, or several with UNION ALL: other columns, without a window.

>>> from tidemill.language.expressions.trees import tokenize
>>> text = "SELECT ts, length * 8 AS bits FROM packets WHERE length > 1000"
>>> [select.stream for select in parse_row_selects(Cursor(tokenize(text), text))]
['packets']
"""

from __future__ import annotations

from tidemill.errors import refuse
from tidemill.language.cursor import Cursor
from tidemill.language.not_built import refuse_not_built
from tidemill.language.relations import (
    parse_alias,
    parse_joins,
    parse_stream,
    refuse_other_relations,
    refuse_windows,
)
from tidemill.language.select import (
    SETS,
    at_qualified_star,
    parse_item,
    parse_select_list,
)
from tidemill.language.statements import RowSelect, SelectItem, Star

_GROUPED = ("GROUP BY", "HAVING", "EMIT")
_LATER = {
    "UNION": "UNION without ALL",
    **dict.fromkeys(SETS[1:], "INTERSECT or EXCEPT in a stream"),
    **dict.fromkeys(("ORDER BY", "SORT BY"), "an order of rows in a stream"),
    **dict.fromkeys(("LIMIT", "OFFSET"), "LIMIT or OFFSET in a stream"),
    "QUALIFY": "QUALIFY",
    "WITH": "WITH on a derived stream",
}


def parse_row_selects(cursor: Cursor) -> list[RowSelect]:
    """The SELECTs that come next with UNION ALL between, up to the end of the statement."""
    selects = [_parse_row_select(cursor)]
    while cursor.take("UNION", "ALL"):
        selects.append(_parse_row_select(cursor))
    return selects


def _parse_row_select(cursor: Cursor) -> RowSelect:
    start = cursor.index
    items = parse_select_list(cursor, _parse_row_item)
    cursor.expect("FROM")
    refuse_other_relations(cursor)
    stream, stream_place = parse_stream(cursor)
    alias = parse_alias(cursor, "an alias")
    joins = parse_joins(cursor)
    refuse_windows(joins, cursor.text)
    refuse_other_relations(cursor)
    where = cursor.expression() if cursor.take("WHERE") else None
    if not cursor.at("UNION", "ALL"):
        _refuse_rest(cursor)
    place = cursor.since(start)
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


def _refuse_rest(cursor: Cursor) -> None:
    """Refuses the clauses of other SELECTs."""
    if cursor.word() in _GROUPED:
        refuse(
            "E_WINDOW",
            f"{cursor.word()} in a stream is about the groups of a window, and there is none",
            hint="read one: FROM stream [RANGE r SLIDE s]; or group in the queries over the stream",
            text=cursor.text,
            place=cursor.here,
        )
    if cursor.word() in _LATER:
        refuse_not_built(_LATER[cursor.word()], cursor.text, cursor.here)
