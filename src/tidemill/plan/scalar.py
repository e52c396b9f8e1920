"""Tuple-level expressions: those that are evaluated once for each row, before aggregation."""

from __future__ import annotations

from dataclasses import dataclass

from tidemill.types import Type


@dataclass(frozen=True)
class TableColumn:
    """A column that a join brings in, and the name it has beside the stream's own."""

    join: str
    column: str

    @property
    def name(self) -> str:
        return f"{self.join}_{self.column}"


@dataclass(frozen=True)
class Scalar:
    """A tuple-level expression, evaluated by Catalyst once per row.

    `sql` is the user's meaning in canonical text: equal text means equal value, and that
    is what sharing compares. `try_sql` is the form that never raises where Spark has one.
    `raised_sql` is true for the rows where Spark would have raised (empty: never).
    `guarded` asks for a catch-all around functions that have no such form. `columns` are the
    stream's, in its own words; `joined` are those of tables.
    """

    sql: str
    try_sql: str
    type: Type
    columns: tuple[str, ...]
    raised_sql: str = ""
    guarded: bool = False
    joined: tuple[TableColumn, ...] = ()

    @property
    def may_raise(self) -> bool:
        return self.guarded or bool(self.raised_sql)
