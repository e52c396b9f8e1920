"""`json:FILE`: one object a line, exactly once: the file is cut back to its ledger on start."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidemill.answer.delivery import CARRY
from tidemill.connect.sinks.base import Batch
from tidemill.connect.sinks.cells import date_texts, timestamp_texts
from tidemill.errors import refuse

_TABLE = "CREATE TABLE IF NOT EXISTS json_sinks (path TEXT PRIMARY KEY, length INTEGER NOT NULL)"


class JsonSink:
    delivery = CARRY

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._connection = path, connection
        connection.execute(_TABLE)
        self._length = self._committed_length()

    def check(self, query: str) -> None:
        if self._length is None and self._path.exists() and self._path.stat().st_size:
            refuse(
                "E_SINK",
                f"{self._path} holds lines that this home did not write",
                hint="remove the file, or name another one",
            )

    def recover(self) -> None:
        if self._length is not None and self._path.exists():
            # Somebody may have cut the file meanwhile; growing it would fill it with zeros.
            os.truncate(self._path, min(self._length, self._path.stat().st_size))

    def deliver(self, batch: Batch) -> None:
        if batch.rows is None or not len(batch.rows):
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            for query, rows in batch.tables():
                for line in json_lines(query, rows):
                    file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def record(self) -> None:
        length = self._path.stat().st_size if self._path.exists() else 0
        self._connection.execute(
            "INSERT OR REPLACE INTO json_sinks VALUES (?, ?)", (str(self._path), length)
        )
        self._length = length

    def committed(self, now_us: int) -> None:
        """The lines are there already."""

    def settle(self, query: str) -> None:
        """The lines are where they stay."""

    def close(self, schemas: dict[str, pa.Schema]) -> None:
        """The file is closed after every tick."""

    def _committed_length(self) -> int | None:
        row = self._connection.execute(
            "SELECT length FROM json_sinks WHERE path = ?", (str(self._path),)
        ).fetchone()
        return None if row is None else int(row[0])


def json_lines(query: str, rows: pa.Table) -> Iterator[str]:
    """Numbers stay numbers, decimals with all their digits; NaN and infinities are strings."""
    names = [json.dumps(name) for name in rows.column_names]
    columns = [_texts(column) for column in rows.columns]
    head = f'{{"query": {json.dumps(query)}'
    for values in zip(*columns, strict=True):
        fields = "".join(f", {name}: {value}" for name, value in zip(names, values, strict=True))
        yield f"{head}{fields}}}"


def _texts(column: pa.ChunkedArray) -> list[str]:
    if pa.types.is_timestamp(column.type):
        return [json.dumps(text) if text else "null" for text in timestamp_texts(column)]
    if pa.types.is_date(column.type):
        return [json.dumps(text) if text else "null" for text in date_texts(column)]
    return [_text(value) for value in column.to_pylist()]


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps({math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN"))
    if isinstance(value, bytes):
        return json.dumps(value.hex())
    return json.dumps(value, default=str)
