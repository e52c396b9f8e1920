"""CREATE STREAM, TABLE, SINK, AGGREGATE and QUERY: from tokens to statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot.tokenizer_core import Token

from tidemill.errors import Place, TidemillError, listing, refuse, suggest
from tidemill.language.cursor import Cursor
from tidemill.language.expressions.trees import read_data_type
from tidemill.language.not_built import refuse_not_built
from tidemill.language.options import parse_options
from tidemill.language.row_select import parse_row_selects
from tidemill.language.select import parse_select, reads_window
from tidemill.language.statements import (
    ColumnDef,
    CreateAggregate,
    CreateAnswerStream,
    CreateDerivedStream,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Definition,
    Options,
    Select,
    StreamDefinition,
)
from tidemill.types import TYPE_NAMES, Type, parse_type

_KINDS = ("STREAM", "TABLE", "SINK", "AGGREGATE", "QUERY")
_NESTED = ("ARRAY", "MAP", "STRUCT")


def parse_create(cursor: Cursor) -> Definition:
    """The CREATE that comes next."""
    cursor.expect("CREATE")
    or_replace = cursor.take("OR", "REPLACE")
    hint = suggest(cursor.word(), _KINDS)
    kind = cursor.take_any(_KINDS) or cursor.fail(" or ".join(_KINDS), hint=hint)
    return _READERS[kind](cursor, or_replace)


def _parse_sink(cursor: Cursor, or_replace: bool) -> CreateSink:
    place = cursor.here
    name = cursor.name("the name of a sink")
    cursor.expect("TO")
    address_place = cursor.here
    address = cursor.string("a quoted address such as 'parquet:out/results'")
    options = parse_options(cursor) if cursor.take("WITH") else ()
    return CreateSink(name, address, options, or_replace, place=place, address_place=address_place)


def _parse_aggregate(cursor: Cursor, or_replace: bool) -> CreateAggregate:
    place = cursor.here
    name = cursor.name("the name of an aggregate")
    cursor.expect("SOURCE", hint="CREATE AGGREGATE name SOURCE 'python:file.py'")
    source_place = cursor.here
    source = cursor.string("a quoted address such as 'python:decay.py'")
    text = cursor.string("the quoted text of the file") if cursor.take("AS") else None
    return CreateAggregate(name, source, text, or_replace, place=place, source_place=source_place)


def _parse_query(cursor: Cursor, or_replace: bool) -> CreateQuery:
    place = cursor.here
    name = cursor.name("the name of a query")
    is_sent = cursor.take("INTO")
    into_place = cursor.here
    into = cursor.name("the name of a sink") if is_sent else None
    options = parse_options(cursor) if cursor.take("WITH") else ()
    cursor.expect("AS", hint="CREATE QUERY name [INTO sink] [WITH (…)] AS SELECT …")
    if cursor.at("WITH"):
        refuse_not_built("WITH before SELECT", cursor.text, cursor.here)
    select = parse_select(cursor)
    if cursor.at("WITH"):
        hint = "options of a query stand before AS: CREATE QUERY name WITH (…) AS SELECT …"
        cursor.fail("';' or the end of the statement", hint=hint)
    return CreateQuery(name, into, select, options, or_replace, place=place, into_place=into_place)


@dataclass
class _Clauses:
    """The clauses after the columns of a stream, in any order, each at most once."""

    order_by: str | None = None
    source: str | None = None
    options: Options | None = None
    overload: str | None = None
    places: dict[str, Place] = field(default_factory=dict)  # of the values, by clause

    def put(self, cursor: Cursor, clause: str, start: int, value: str | Options) -> None:
        """`start` is the index of the clause's first token; its value has just been taken."""
        if clause in self.places:
            word = clause.replace("_", " ").upper()
            cursor.index = start
            refuse("E_SYNTAX", f"{word} is given twice", text=cursor.text, place=cursor.here)
        self.places[clause] = cursor.since(start + 1)
        setattr(self, clause, value)


def _parse_stream(cursor: Cursor, or_replace: bool) -> StreamDefinition:
    place = cursor.here
    name = cursor.name("the name of a stream")
    if cursor.take("AS"):
        if reads_window(cursor):
            return CreateAnswerStream(name, _parse_answers(cursor), None, or_replace, place=place)
        first, *others = parse_row_selects(cursor)
        return CreateDerivedStream(name, first, or_replace, tuple(others), place=place)
    columns = _parse_columns(cursor, "(ts TIMESTAMP, src STRING, …)")
    if cursor.take("AS"):
        return CreateAnswerStream(name, _parse_answers(cursor), columns, or_replace, place=place)
    clauses = _parse_clauses(cursor, "ORDER BY", "SOURCE", "WITH", "ON OVERLOAD")
    if clauses.source is None:
        cursor.fail("SOURCE 'address'")
    options = clauses.options or ()
    return CreateStream(
        name,
        columns,
        clauses.order_by,
        clauses.source,
        options,
        or_replace,
        place=place,
        source_place=clauses.places.get("source"),
        options_place=clauses.places.get("options"),
    )


def _parse_answers(cursor: Cursor) -> Select:
    """The query whose answers are a stream."""
    select = parse_select(cursor)
    if cursor.word() == "WITH":
        refuse_not_built("WITH on a stream of answers", cursor.text, cursor.here)
    return select


def _parse_table(cursor: Cursor, or_replace: bool) -> CreateTable:
    place = cursor.here
    name = cursor.name("the name of a table")
    columns = _parse_columns(cursor, "(prefix STRING, owner STRING, …)")
    clauses = _parse_clauses(cursor, "SOURCE", "WITH")
    if clauses.source is None:
        cursor.fail("SOURCE 'address'")
    return CreateTable(
        name,
        columns,
        clauses.source,
        clauses.options or (),
        or_replace,
        place=place,
        source_place=clauses.places.get("source"),
        options_place=clauses.places.get("options"),
    )


def _parse_columns(cursor: Cursor, example: str) -> tuple[ColumnDef, ...]:
    cursor.expect("(", hint=f"the columns: {example}")
    columns = cursor.separated(lambda: _parse_column(cursor))
    cursor.expect(")")
    return columns


def _parse_clauses(cursor: Cursor, *allowed: str) -> _Clauses:
    clauses = _Clauses()
    while not cursor.at_end:
        start = cursor.index
        if not any(cursor.at(*_words(clause)) for clause in allowed):
            cursor.fail(f"{', '.join(allowed)} or the end of the statement")
        if cursor.take("ORDER BY"):
            clauses.put(cursor, "order_by", start, cursor.name("the column of event time"))
        elif cursor.take("SOURCE"):
            address = cursor.string("a quoted address such as 'parquet:data/packets'")
            clauses.put(cursor, "source", start, address)
        elif cursor.take("WITH"):
            clauses.put(cursor, "options", start, parse_options(cursor))
        else:
            cursor.expect("ON", "OVERLOAD")
            clauses.put(cursor, "overload", start, _parse_overload(cursor))
    return clauses


def _words(clause: str) -> tuple[str, ...]:
    """The tokens of a clause's words: ORDER BY is one, ON OVERLOAD two."""
    return ("ON", "OVERLOAD") if clause == "ON OVERLOAD" else (clause,)


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


_READERS: dict[str, Callable[[Cursor, bool], Definition]] = {
    "STREAM": _parse_stream,
    "TABLE": _parse_table,
    "SINK": _parse_sink,
    "AGGREGATE": _parse_aggregate,
    "QUERY": _parse_query,
}
