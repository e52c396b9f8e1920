"""A script of statements: split at semicolons, then one small reader per first word.

>>> [type(statement).__name__ for statement in parse_script("SHOW QUERIES; DROP SINK s;")]
['Show', 'Drop']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from sqlglot.tokenizer_core import Token, TokenType

from tidemill.errors import suggest
from tidemill.language.changes import (
    parse_advance,
    parse_alter,
    parse_pause,
    parse_resume,
)
from tidemill.language.create import parse_create
from tidemill.language.cursor import Cursor
from tidemill.language.expressions.trees import (
    check_balanced,
    parse_tree,
    place_of_tree,
    to_sql,
    tokenize,
)
from tidemill.language.not_built import refuse_not_built
from tidemill.language.options import parse_options, parse_value
from tidemill.language.relations import parse_stream
from tidemill.language.select import parse_select
from tidemill.language.statements import (
    Describe,
    Drop,
    Explain,
    Expr,
    RunSelect,
    Select,
    Set,
    Show,
    Statement,
)

_DROPS = ("STREAM", "TABLE", "SINK", "AGGREGATE", "QUERY")
_SHOWS = (
    *("STREAMS", "SOURCES", "TABLES", "SINKS", "AGGREGATES", "QUERIES"),
    *("WEAVES", "SCHEDULE", "SETTINGS"),
)
_MODES = ("AST", "PLAN", "SHARED", "SPARK", "SCHEDULE")


def parse_script(text: str) -> tuple[Statement, ...]:
    """Every statement of the text in order; refuses the first that cannot be read."""
    return tuple(_parse_statement(tokens, text) for tokens in _split(tokenize(text)))


def parse_expression(text: str) -> Expr:
    """One expression on its own."""
    tree = parse_tree(text)
    return Expr(to_sql(tree), place_of_tree(tree), tree)


def _split(tokens: list[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.token_type != TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _parse_statement(tokens: list[Token], text: str) -> Statement:
    check_balanced(tokens, text)
    cursor = Cursor(tokens, text)
    read = _READERS.get(cursor.word())
    if read is None:
        hint = suggest(cursor.word(), _READERS)
        cursor.fail("a statement", hint=hint or f"statements: {', '.join(_READERS)}")
    statement = read(cursor)
    if not cursor.at_end:
        cursor.fail("';' or the end of the statement")
    return replace(statement, text_place=cursor.since(0))


def _parse_drop(cursor: Cursor) -> Drop:
    cursor.expect("DROP")
    kind = cursor.expect_any(_DROPS)
    if_exists = cursor.take("IF", "EXISTS")
    place = cursor.here
    article = "an" if kind == "AGGREGATE" else "a"
    name = cursor.name(f"the name of {article} {kind.lower()}")
    return Drop(kind, name, if_exists, place=place)


def _parse_show(cursor: Cursor) -> Show:
    cursor.expect("SHOW")
    place = cursor.here
    return Show(cursor.expect_any(_SHOWS), place=place)


def _parse_describe(cursor: Cursor) -> Describe:
    cursor.expect_any(("DESCRIBE", "DESC"))
    name, place = parse_stream(cursor, "a name")
    return Describe(name, place=place)


def _parse_set(cursor: Cursor) -> Set:
    cursor.expect("SET")
    place = cursor.here
    name = cursor.name("the name of a setting").lower()
    cursor.expect("=")
    return Set(name, parse_value(cursor, "E_SYNTAX"), place=place)


def _parse_explain(cursor: Cursor) -> Explain:
    cursor.expect("EXPLAIN")
    mode = cursor.take_any(_MODES) or "PLAN"
    place = cursor.here
    return Explain(mode, _parse_target(cursor), place=place)


def _parse_target(cursor: Cursor) -> Select | str | None:
    if cursor.at("SELECT"):
        return parse_select(cursor)
    if cursor.take("QUERY"):
        return cursor.name("the name of a query")
    if not cursor.take("ALL"):
        cursor.fail("SELECT, QUERY name or ALL", hint=f"modes: {', '.join(_MODES)}")
    return None


def _parse_run_select(cursor: Cursor) -> RunSelect:
    select = parse_select(cursor)
    start = cursor.index
    if not cursor.take("WITH"):
        return RunSelect(select, place=select.place)
    options = parse_options(cursor)
    return RunSelect(select, options, place=select.place, options_place=cursor.since(start))


def _refuse_with(cursor: Cursor) -> Statement:
    refuse_not_built("WITH before SELECT", cursor.text, cursor.here)


_READERS: dict[str, Callable[[Cursor], Statement]] = {
    "CREATE": parse_create,
    "DROP": _parse_drop,
    "SHOW": _parse_show,
    "DESCRIBE": _parse_describe,
    "DESC": _parse_describe,
    "SET": _parse_set,
    "EXPLAIN": _parse_explain,
    "SELECT": _parse_run_select,
    "WITH": _refuse_with,
    "ALTER": parse_alter,
    "PAUSE": parse_pause,
    "RESUME": parse_resume,
    "ADVANCE": parse_advance,
}
