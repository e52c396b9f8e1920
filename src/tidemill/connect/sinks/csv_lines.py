"""`csv:FILE`: one line for each answer under a header, exactly once.

Rows with other columns than those above them come under a header of their own. The ledger keeps
the last one, so a header, too, stands there once however processes end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tidemill.catalog import Sink
from tidemill.connect.sinks.appended import AppendedFile
from tidemill.connect.sinks.cells import date_texts, timestamp_texts
from tidemill.connect.sinks.contract import Batch, SinkTools

_TABLE = "CREATE TABLE IF NOT EXISTS csv_headers (path TEXT PRIMARY KEY, header TEXT NOT NULL)"
_QUOTED = frozenset(',"\r\n')


class CsvSink(AppendedFile):
    def __init__(self, sink: Sink, tools: SinkTools) -> None:
        super().__init__(sink, tools)
        self._connection.execute(_TABLE)
        self._header = self._committed_header()

    def deliver(self, batch: Batch) -> None:
        if not self._path.exists() or not self._path.stat().st_size:
            self._header = ""
        super().deliver(batch)

    def lines(self, query: str, rows: pa.Table) -> Iterator[str]:
        header = csv_line(["query", *rows.column_names])
        if len(rows) and header != self._header:
            self._header = header
            yield header
        yield from csv_lines(query, rows)

    def record(self) -> None:
        super().record()
        self._connection.execute(
            "INSERT OR REPLACE INTO csv_headers VALUES (?, ?)", (str(self._path), self._header)
        )

    def _committed_header(self) -> str:
        row = self._connection.execute(
            "SELECT header FROM csv_headers WHERE path = ?", (str(self._path),)
        ).fetchone()
        return "" if row is None else str(row[0])


def csv_lines(query: str, rows: pa.Table) -> Iterator[str]:
    """The name of the query, then its columns.

    >>> list(csv_lines("q", pa.table({"k": ["a, b", "", None], "n": [1, 2, None]})))
    ['q,"a, b",1', 'q,"",2', 'q,,']
    """
    for values in zip(*map(_texts, rows.columns), strict=True):
        yield csv_line([query, *values])


def csv_line(values: Iterable[str | None]) -> str:
    """NULL is nothing at all, and the empty text stands in quotes."""
    return ",".join("" if value is None else _quoted(value) for value in values)


def _quoted(text: str) -> str:
    if text and not _QUOTED & set(text):
        return text
    return '"{}"'.format(text.replace('"', '""'))


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    if pa.types.is_timestamp(column.type):
        return timestamp_texts(column)
    if pa.types.is_date(column.type):
        return date_texts(column)
    return [_text(value) for value in column.to_pylist()]


def _text(value: Any) -> str | None:
    """Numbers with all their digits; arrays and structs are JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, bytes):
        return value.hex()
    return json.dumps(value, default=str)
