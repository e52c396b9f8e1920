"""Streams and tables as FROM and JOIN name them: their columns, in the words of the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

from tidemill.catalog import Stream, Table
from tidemill.catalog.names import Name, by_name
from tidemill.errors import Place, listing, refuse, suggest
from tidemill.language.statements import ColumnDef, JoinClause, Select
from tidemill.plan.scalar import TableColumn


@dataclass(frozen=True)
class ScopeEntry:
    """A stream or a table. `join` is the name of the join that brings in a table's columns.

    Those that USING has merged with earlier ones need their qualifier.
    """

    qualifier: Name
    kind: str
    name: str
    declared: Mapping[Name, ColumnDef]
    join: str = ""
    merged: frozenset[Name] = frozenset()

    @property
    def title(self) -> str:
        return f"{self.kind} {self.name}"

    @cached_property
    def columns(self) -> dict[Name, ColumnDef]:
        """By the names that expressions have after resolution."""
        return by_name(self.resolved(column) for column in self.declared.values())

    @property
    def unqualified(self) -> frozenset[Name]:
        return frozenset(self.declared) - self.merged

    def resolved(self, column: ColumnDef) -> ColumnDef:
        return replace(column, name=self.origin(column).name) if self.join else column

    def origin(self, column: ColumnDef) -> TableColumn:
        return TableColumn(self.join, column.name)


def stream_entry(select: Select, stream: Stream) -> ScopeEntry:
    qualifier = Name(select.stream_alias or select.stream)
    return ScopeEntry(qualifier, "stream", stream.name, by_name(stream.columns))


def table_entry(clause: JoinClause, table: Table, join: str) -> ScopeEntry:
    qualifier, merged = Name(clause.alias or clause.table), frozenset(map(Name, clause.using))
    return ScopeEntry(qualifier, "table", table.name, by_name(table.columns), join, merged)


def refuse_ambiguous(holders: Sequence[ScopeEntry], name: str, place: Place | None) -> NoReturn:
    refuse(
        "E_AMBIGUOUS",
        f"column '{name}' is in {' and '.join(entry.title for entry in holders)}",
        detail=listing("choices", (f"{entry.qualifier.written}.{name}" for entry in holders)),
        hint="say which, by the name or alias in front",
        place=place,
    )


def refuse_unknown(entries: Sequence[ScopeEntry], name: str, place: Place | None) -> NoReturn:
    names = [column.name for entry in entries for column in entry.declared.values()]
    refuse(
        "E_UNKNOWN_COLUMN",
        f"no column '{name}' in {' or '.join(entry.title for entry in entries)}",
        detail="\n".join(_columns_of(entry, len(entries)) for entry in entries),
        hint=_guess(entries, name) or suggest(name, names),
        place=place,
    )


def _columns_of(entry: ScopeEntry, count: int) -> str:
    label = "columns" if count == 1 else f"columns of {entry.qualifier.written}"
    return listing(label, (column.name for column in entry.declared.values()))


def _guess(entries: Sequence[ScopeEntry], name: str) -> str:
    if Name(name) in ("window_start", "window_end"):
        return "window_start and window_end are for SELECT, HAVING and ORDER BY"
    renamed = [e for e in entries if Name(e.name) == Name(name) != e.qualifier]
    return f"{renamed[0].title} is called {renamed[0].qualifier.written} here" if renamed else ""
