"""What a definition must be on its own, before the catalog takes it in."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from tidemill.catalog.aggregates import code_of
from tidemill.catalog.options import priority_of
from tidemill.catalog.streams import sink_of, stream_of
from tidemill.catalog.tables import table_of
from tidemill.errors import refuse
from tidemill.language import render
from tidemill.language.statements import (
    CreateAggregate,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Definition,
)

KINDS: dict[type, str] = {
    CreateStream: "stream",
    CreateTable: "table",
    CreateSink: "sink",
    CreateAggregate: "aggregate",
    CreateQuery: "query",
}


def check_definition(statement: Definition) -> None:
    """Refuses a definition that could not stand in any catalog."""
    _check_name(KINDS[type(statement)], statement)
    if isinstance(statement, CreateStream):
        stream_of(statement)
    elif isinstance(statement, CreateTable):
        table_of(statement)
    elif isinstance(statement, CreateSink):
        sink_of(statement)
    elif isinstance(statement, CreateAggregate):
        code_of(statement)
    else:
        priority_of(statement)


def _check_name(kind: str, statement: Definition) -> None:
    """State and answers lie in folders that are called after their stream or query."""
    name = statement.name
    if name.startswith(".") or any(letter in name for letter in "/\\\0") or len(name) > 100:
        refuse(
            "E_NAME",
            f"{kind} '{name}' cannot be the name of a folder",
            hint="at most 100 letters, no slash, and no dot in front",
            place=statement.place,
        )


def refuse_difference(kind: str, standing: Definition, declared: Definition) -> NoReturn:
    """Says line by line how a definition differs from the one of its name."""
    was, now = _lines(standing), _lines(declared)
    removed = [f"- {line}" for line in was if line not in now]
    new = [f"+ {line}" for line in now if line not in was]
    refuse(
        "E_EXISTS",
        f"{kind} {standing.name} exists and differs",
        detail="\n".join(removed + new),
        hint=f"CREATE OR REPLACE {kind.upper()} changes it; DROP {kind.upper()} removes it",
        place=declared.place,
    )


def _lines(definition: Definition) -> list[str]:
    """The canonical text; that of a file line by line, as it stands there."""
    if isinstance(definition, CreateAggregate) and definition.text is not None:
        return [*_lines(replace(definition, text=None)), *definition.text.splitlines()]
    return render(definition).splitlines()
