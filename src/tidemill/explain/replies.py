"""Replies to statements, as values: a program takes them apart, `str` says them to people.

>>> streams = ReplyTable.of({"stream": TEXT, "rows": THOUSANDS}, [("packets", 1200)])
>>> print(streams)
stream   rows
───────  ─────
packets  1,200
>>> streams.to_dict()["rows"]
[['packets', 1200]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tidemill.connect.sinks.cells import cell_texts, date_texts, timestamp_texts
from tidemill.explain.plain import plain_data
from tidemill.explain.plan import window_clause
from tidemill.language.statements import Window
from tidemill.words import many, span, table

Plain = dict[str, Any]


@dataclass(frozen=True)
class CellType:
    """The type of a column: its name for programs, and how values are put for either reader."""

    name: str
    text: Callable[[Any], str] = str
    plain: Callable[[Any], Any] = plain_data


def number_as(form: str) -> CellType:
    """Numbers that people see in a format of Python's."""
    return CellType("number", lambda value: format(value, form))


def _window_plain(window: Window) -> Plain:
    return {
        "text": window_clause(window),
        "ranges_us": list(window.ranges_us),
        "slide_us": window.slide_us,
        "start_us": window.start_us,
        "is_soft": window.is_soft,
    }


TEXT = CellType("text")
INTEGER = CellType("integer")
THOUSANDS = CellType("integer", lambda value: f"{value:,}")
NAMES = CellType("names", ", ".join)
DURATION = CellType("duration_us", span)
WINDOW = CellType("window", window_clause, _window_plain)
SETTING = CellType("setting")


@dataclass(frozen=True)
class ReplyTable:
    """Rows under typed columns; None is an empty cell. `notes` follow the rows."""

    columns: Mapping[str, CellType]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()
    when_empty: str = ""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row does not fit the columns {', '.join(self.columns)}")

    @staticmethod
    def of(
        columns: Mapping[str, CellType],
        rows: Iterable[tuple[Any, ...]],
        notes: Iterable[str] = (),
        when_empty: str = "",
    ) -> ReplyTable:
        return ReplyTable(columns, tuple(rows), tuple(notes), when_empty)

    def __str__(self) -> str:
        if not self.rows and self.when_empty:
            return self.when_empty
        texts = self._cells(lambda kind, value: "" if value is None else kind.text(value))
        return "\n\n".join([table(tuple(self.columns), list(map(tuple, texts))), *self.notes])

    def to_dict(self) -> Plain:
        cells = self._cells(lambda kind, value: None if value is None else kind.plain(value))
        columns = [{"name": name, "type": kind.name} for name, kind in self.columns.items()]
        return {"reply": "table", "columns": columns, "rows": cells, "notes": list(self.notes)}

    def _cells(self, put: Callable[[CellType, Any], Any]) -> list[list[Any]]:
        kinds = tuple(self.columns.values())
        return [list(map(put, kinds, row)) for row in self.rows]


@dataclass(frozen=True)
class Explanation:
    """A value that passes between two stages, and the page that says what is in it."""

    stage: str
    subject: Any
    text: str = field(compare=False)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> Plain:
        subject = plain_data(self.subject)
        return {"reply": "explanation", "stage": self.stage, "subject": subject, "text": self.text}


@dataclass(frozen=True)
class Description:
    """The canonical statement of a definition, and remarks on it."""

    kind: str
    name: str
    statement: str
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"{self.statement};", *(f"-- {r}".rstrip() for r in self.remarks)])

    def to_dict(self) -> Plain:
        return {
            "reply": "description",
            "kind": self.kind,
            "name": self.name,
            "statement": self.statement,
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True)
class Message:
    """A sentence on what a statement has brought about."""

    text: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> Plain:
        return {"reply": "message", "text": self.text}


@dataclass(frozen=True)
class Selection:
    """The answer of a one-time query, in the order of its windows.

    `raised` counts the values that are NULL because an expression failed.
    """

    rows: pa.Table
    raised: int = 0

    def __str__(self) -> str:
        raised = f"{many(self.raised, 'value')} raised an error and are NULL"
        return "\n".join([self._table(), *([raised] if self.raised else [])])

    def _table(self) -> str:
        texts = map(cell_texts, self.rows.columns)
        rows = list(zip(*texts, strict=True))
        return table(tuple(self.rows.column_names), rows) if rows else "no rows"

    def to_dict(self) -> Plain:
        columns = [{"name": column.name, "type": str(column.type)} for column in self.rows.schema]
        rows = [list(row) for row in zip(*map(_plain_cells, self.rows.columns), strict=True)]
        return {"reply": "answer", "columns": columns, "rows": rows, "raised": self.raised}


Reply = ReplyTable | Explanation | Description | Message | Selection


def _plain_cells(column: pa.ChunkedArray) -> list[Any]:
    """By way of text for times: Python's dates end with the year 9999, windows do not."""
    if pa.types.is_timestamp(column.type):
        return list(timestamp_texts(column))
    if pa.types.is_date(column.type):
        return list(date_texts(column))
    return [plain_data(value) for value in column.to_pylist()]
