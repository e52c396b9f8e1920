"""CREATE STREAM, SINK and QUERY: from tokens to statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token

from tidemill.errors import Place, TidemillError, listing, refuse
from tidemill.language.cursor import Cursor
from tidemill.language.not_built import refuse_not_built
from tidemill.language.options import parse_options
from tidemill.language.select_clause import parse_select
from tidemill.language.statements import (
    ColumnDef,
    CreateQuery,
    CreateSink,
    CreateStream,
    Options,
)
from tidemill.language.trees import read_data_type
from tidemill.types import TYPE_NAMES, Type, parse_type

_NESTED = ("ARRAY", "MAP", "STRUCT")


def parse_create(cursor: Cursor) -> CreateStream | CreateSink | CreateQuery:
    """The CREATE that comes next."""
    cursor.expect("CREATE")
    or_replace = cursor.take("OR", "REPLACE")
    if cursor.word() in ("TABLE", "AGGREGATE"):
        refuse_not_built(f"CREATE {cursor.word()}", cursor.text, cursor.here)
    kind = cursor.expect_any(("STREAM", "SINK", "QUERY"))
    if kind == "STREAM":
        return _parse_stream(cursor, or_replace)
    return (_parse_sink if kind == "SINK" else _parse_query)(cursor, or_replace)


def _parse_sink(cursor: Cursor, or_replace: bool) -> CreateSink:
    place = cursor.here
    name = cursor.name("the name of a sink")
    cursor.expect("TO")
    address = cursor.string("a quoted address such as 'parquet:out/results'")
    options = parse_options(cursor) if cursor.take("WITH") else ()
    return CreateSink(name, address, options, or_replace, place=place)


def _parse_query(cursor: Cursor, or_replace: bool) -> CreateQuery:
    place = cursor.here
    name = cursor.name("the name of a query")
    into = cursor.name("the name of a sink") if cursor.take("INTO") else None
    options = parse_options(cursor) if cursor.take("WITH") else ()
    cursor.expect("AS", hint="CREATE QUERY name [INTO sink] [WITH (…)] AS SELECT …")
    if cursor.at("WITH"):
        refuse_not_built("WITH before SELECT", cursor.text, cursor.here)
    return CreateQuery(name, into, parse_select(cursor), options, or_replace, place=place)


@dataclass
class _Clauses:
    """What follows the columns of a stream, in any order, each at most once."""

    order_by: str | None = None
    source: str | None = None
    options: Options | None = None
    overload: str | None = None

    def put(self, cursor: Cursor, clause: str, place: Place, value: str | Options) -> None:
        if getattr(self, clause) is not None:
            word = clause.replace("_", " ").upper()
            refuse("E_SYNTAX", f"{word} is given twice", text=cursor.text, place=place)
        setattr(self, clause, value)


def _parse_stream(cursor: Cursor, or_replace: bool) -> CreateStream:
    place = cursor.here
    name = cursor.name("the name of a stream")
    if cursor.at("AS"):
        refuse_not_built("CREATE STREAM … AS SELECT", cursor.text, cursor.here)
    cursor.expect("(", hint="the columns: (ts TIMESTAMP, src STRING, …)")
    columns = cursor.separated(lambda: _parse_column(cursor))
    cursor.expect(")")
    _check_distinct(cursor, columns)
    clauses = _parse_clauses(cursor)
    if clauses.source is None:
        cursor.fail("SOURCE 'address'")
    options = clauses.options or ()
    return CreateStream(
        name, columns, clauses.order_by, clauses.source, options, or_replace, place=place
    )


def _parse_clauses(cursor: Cursor) -> _Clauses:
    clauses = _Clauses()
    while not cursor.at_end:
        place = cursor.here
        if cursor.take("ORDER BY"):
            clauses.put(cursor, "order_by", place, cursor.name("the column of event time"))
        elif cursor.take("SOURCE"):
            address = cursor.string("a quoted address such as 'parquet:data/packets'")
            clauses.put(cursor, "source", place, address)
        elif cursor.take("WITH"):
            clauses.put(cursor, "options", place, parse_options(cursor))
        elif cursor.take("ON", "OVERLOAD"):
            clauses.put(cursor, "overload", place, _parse_overload(cursor))
        else:
            cursor.fail("ORDER BY, SOURCE, WITH, ON OVERLOAD or the end of the statement")
    return clauses


def _parse_overload(cursor: Cursor) -> str:
    if not cursor.at("BLOCK"):
        refuse_not_built("ON OVERLOAD", cursor.text, cursor.here)
    cursor.expect("BLOCK")
    return "BLOCK"


def _parse_column(cursor: Cursor) -> ColumnDef:
    start = cursor.index
    name = cursor.name("the name of a column")
    cursor.take(":")
    first = cursor.index
    _skip_type(cursor)
    if cursor.index == first:
        cursor.fail(f"the type of column {name}", code="E_UNKNOWN_TYPE")
    kind = _read_type(cursor, cursor.tokens[first : cursor.index], cursor.since(first))
    return ColumnDef(name, kind, place=cursor.since(start))


def _skip_type(cursor: Cursor) -> None:
    """Up to the comma or the parenthesis that ends the column, over nested ones."""
    depth = 0
    while not cursor.at_end:
        word = cursor.word()
        if depth == 0 and word in (",", ")"):
            return
        depth += (word in ("(", "<")) - (word in (")", ">"))
        cursor.index += 1


def _read_type(cursor: Cursor, tokens: Sequence[Token], place: Place) -> Type:
    text = cursor.text[place.start : place.end]
    nested = tokens[0].text.upper() in _NESTED
    try:
        return parse_type(read_data_type(tokens, cursor.text) if nested else text)
    except (ValueError, TidemillError):
        hint = listing("types", TYPE_NAMES)
        refuse("E_UNKNOWN_TYPE", f"no type {text}", hint=hint, text=cursor.text, place=place)


def _check_distinct(cursor: Cursor, columns: tuple[ColumnDef, ...]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            primary = f"column {column.name} is declared twice"
            refuse("E_SYNTAX", primary, text=cursor.text, place=column.place)
        seen.add(column.name.lower())
