"""Aggregates written by users: the code that a declaration names, and which queries call it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from sqlglot import exp

from tidemill.errors import refuse
from tidemill.language.names import STREAM_WORDS, Name, needs_quotes
from tidemill.language.statements import CreateAggregate, Expr, RowSelect, Select, SelectItem

SCHEME = "python"


@dataclass(frozen=True)
class Code:
    """A class by the text of its file, so that every process runs the very same one.

    `class_name` is empty where the file has one aggregate, or one of that name; `file` is
    what messages call it.
    """

    name: str
    text: str = field(repr=False)
    class_name: str = ""
    file: str = field(default="", compare=False)


def code_of(statement: CreateAggregate) -> Code:
    """The code that a `CREATE AGGREGATE` declares, or why there is none."""
    _check_name(statement)
    path, class_name = parse_source(statement)
    if statement.text is None:
        refuse(
            "E_SOURCE",
            f"the text of aggregate {statement.name} is not there",
            hint="the engine reads the file when the statement is run",
            place=statement.source_place,
        )
    return Code(statement.name.lower(), statement.text, class_name, PurePath(path).name)


def parse_source(statement: CreateAggregate) -> tuple[str, str]:
    """The path of the file and the name of the class, which may be empty."""
    scheme, _, rest = statement.source.partition(":")
    path, _, class_name = rest.partition("#")
    if scheme.lower() != SCHEME or not path:
        refuse(
            "E_SOURCE",
            f"no source of an aggregate '{statement.source}'",
            hint="write 'python:FILE', or 'python:FILE#CLASS' where a file has several",
            place=statement.source_place,
        )
    return path, class_name


def _check_name(statement: CreateAggregate) -> None:
    """It stands where functions are called, and those have plain names."""
    if needs_quotes(statement.name) or statement.name.upper() in STREAM_WORDS:
        refuse(
            "E_NAME",
            f"aggregate '{statement.name}' could not be called",
            hint="a name has letters, digits and '_', and is no word of the language",
            place=statement.place,
        )


def calls(select: Select | RowSelect, name: Name) -> bool:
    """True if a query, or a derived stream, calls a function of this name."""
    return any(
        # To look at the text first is a hundred times cheaper.
        name in expr.sql.lower() and any(Name(node.name) == name for node in _functions(expr))
        for expr in _expressions(select)
    )


def _functions(expr: Expr) -> Iterator[exp.Expr]:
    return expr.tree.find_all(exp.Anonymous)


def _expressions(select: Select | RowSelect) -> Iterator[Expr]:
    yield from (item.expr for item in select.items if isinstance(item, SelectItem))
    yield from filter(None, (select.where,))
    if isinstance(select, Select):
        yield from filter(None, (select.having,))
        yield from select.group_by
        yield from (item.expr for item in select.order_by)
