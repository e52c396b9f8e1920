"""Differences between a definition and the one of its name that stands: told, or not allowed."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from tidemill.catalog.options import stream_options
from tidemill.catalog.users import Users
from tidemill.errors import listing, refuse
from tidemill.language import render
from tidemill.language.statements import AdvanceStream, CreateAggregate, CreateStream, Definition
from tidemill.words import instant

# What users do with a definition that cannot change under them.
_READ_AS = {"stream": "read", "table": "join", "aggregate": "call"}


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


def check_replacement(
    kind: str, standing: Definition, changed: Definition, users: Users, soft: list[str]
) -> None:
    """State was made from the old definition, and while users stand it goes on with it.

    `soft` are the queries with soft periods among them.
    """
    if isinstance(standing, CreateStream) and isinstance(changed, CreateStream):
        _check_columns_stay(standing, changed, users)
        _check_updates_stay(standing, changed, soft)
    elif kind in _READ_AS and standing != replace(changed, or_replace=False):
        refuse(
            "E_IN_USE",
            f"{kind} {standing.name} cannot be replaced while {users.kinds} {_READ_AS[kind]} it",
            detail=users.names,
            hint=f"drop those first, or declare another {kind} beside it",
            place=changed.place,
        )


def check_advance(statement: AdvanceStream, until_us: int) -> None:
    """Refuses an operator's promise that would take back one that stands."""
    if statement.until_us <= until_us:
        refuse(
            "E_ADVANCE",
            f"stream {statement.name} has come to {instant(until_us)}, and time never goes back",
            hint="name a later instant; rows that come and are older than it will be late",
            place=statement.until_place,
        )


def _check_columns_stay(standing: CreateStream, changed: CreateStream, users: Users) -> None:
    """Columns may only be added."""
    lost = [column.name for column in standing.columns if column not in changed.columns]
    if lost or standing.order_by != changed.order_by:
        refuse(
            "E_IN_USE",
            f"stream {standing.name} cannot lose or change columns while {users.kinds} read it",
            detail=f"{listing('columns', lost)}\n{users.names}",
            hint="drop those first, or keep the columns and add others",
            place=changed.place,
        )


def _check_updates_stay(standing: CreateStream, changed: CreateStream, soft: list[str]) -> None:
    """Windows with soft periods end at updates, so slices were cut there."""
    before, after = stream_options(standing).update_us, stream_options(changed).update_us
    if soft and before != after:
        refuse(
            "E_IN_USE",
            f"the updates of stream {standing.name} cannot change under queries with soft periods",
            detail=listing("queries", soft),
            hint="drop the queries first",
            place=changed.options_place or changed.place,
        )
