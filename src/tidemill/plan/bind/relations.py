"""What stands in FROM and JOIN: the columns of each relation, under the names a query uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from tidemill.catalog import Stream, Table
from tidemill.errors import Place, listing, refuse, suggest
from tidemill.language.statements import ColumnDef, JoinClause, Select
from tidemill.plan.scalar import TableColumn


@dataclass(frozen=True)
class Relation:
    """A stream or a table. `join` is the name of the join that brings in a table's columns.

    Those that USING has merged with earlier ones need their qualifier.
    """

    qualifier: str
    kind: str
    name: str
    declared: Mapping[str, ColumnDef]  # by lower-case name
    join: str = ""
    merged: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def columns(self) -> dict[str, ColumnDef]:
        """By the names that expressions have after resolution, in lower case."""
        resolved = (self.resolved(column) for column in self.declared.values())
        return {column.name.lower(): column for column in resolved}

    @property
    def unqualified(self) -> frozenset[str]:
        return frozenset(self.declared) - self.merged

    def resolved(self, column: ColumnDef) -> ColumnDef:
        return replace(column, name=self.origin(column).name) if self.join else column

    def origin(self, column: ColumnDef) -> TableColumn:
        return TableColumn(self.join, column.name)


def stream_relation(select: Select, stream: Stream) -> Relation:
    columns = {column.name.lower(): column for column in stream.columns}
    return Relation(select.stream_alias or select.stream, "stream", stream.name, columns)


def table_relation(clause: JoinClause, table: Table, join: str) -> Relation:
    columns = {column.name.lower(): column for column in table.columns}
    merged = frozenset(name.lower() for name in clause.using)
    return Relation(clause.alias or clause.table, "table", table.name, columns, join, merged)


def refuse_ambiguous(holders: Sequence[Relation], name: str, place: Place | None) -> NoReturn:
    refuse(
        "E_AMBIGUOUS",
        f"column '{name}' is in {' and '.join(relation.title for relation in holders)}",
        detail=listing("choices", (f"{relation.qualifier}.{name}" for relation in holders)),
        hint="say which, by the name or alias in front",
        place=place,
    )


def refuse_unknown(relations: Sequence[Relation], name: str, place: Place | None) -> NoReturn:
    names = [column.name for relation in relations for column in relation.declared.values()]
    refuse(
        "E_UNKNOWN_COLUMN",
        f"no column '{name}' in {' or '.join(relation.title for relation in relations)}",
        detail="\n".join(_columns_of(relation, len(relations)) for relation in relations),
        hint=_guess(relations, name) or suggest(name, names),
        place=place,
    )


def _columns_of(relation: Relation, count: int) -> str:
    label = "columns" if count == 1 else f"columns of {relation.qualifier}"
    return listing(label, (column.name for column in relation.declared.values()))


def _guess(relations: Sequence[Relation], name: str) -> str:
    if name.lower() in ("window_start", "window_end"):
        return "window_start and window_end are for SELECT, HAVING and ORDER BY"
    renamed = [r for r in relations if r.name.lower() == name.lower() != r.qualifier.lower()]
    return f"{renamed[0].title} is called {renamed[0].qualifier} here" if renamed else ""
