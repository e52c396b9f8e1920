"""Sinks that append lines to one file, each exactly once.

The home's ledger knows how long the file was at the last commit. On start the file is cut back
to that: what follows was delivered by a tick that was not committed, and comes again.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from tidemill.answer.request import CARRY
from tidemill.catalog import Sink
from tidemill.connect.sinks.contract import EXACTLY_ONCE, Batch, SinkTools, SinkWriter
from tidemill.errors import refuse

# The first of these sinks was json:, which has given the table its name.
_TABLE = "CREATE TABLE IF NOT EXISTS json_sinks (path TEXT PRIMARY KEY, length INTEGER NOT NULL)"


class AppendedFile(SinkWriter):
    """Subclasses say what a query's rows are as lines."""

    delivery = CARRY
    promise = EXACTLY_ONCE

    def __init__(self, sink: Sink, tools: SinkTools) -> None:
        self._path, self._connection = Path(sink.address.path), tools.connection
        self._connection.execute(_TABLE)
        self._length = self._committed_length()

    @abstractmethod
    def lines(self, query: str, rows: pa.Table) -> Iterator[str]:
        """One line for each row, without its end."""

    def check(self, query: str) -> None:
        if self._length is None and self._path.exists() and self._path.stat().st_size:
            refuse(
                "E_SINK",
                f"{self._path} holds lines that this home did not write",
                hint="remove the file, or name another one",
            )

    def recover(self) -> None:
        # The transaction that set the length may have been rolled back.
        self._length = self._committed_length()
        if self._length is not None and self._path.exists():
            # Somebody may have cut the file meanwhile; growing it would fill it with zeros.
            os.truncate(self._path, min(self._length, self._path.stat().st_size))

    def take_back(self) -> None:
        self.recover()

    def deliver(self, batch: Batch) -> None:
        if batch.rows is None or not len(batch.rows):
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            for query, rows in batch.tables():
                for line in self.lines(query, rows):
                    file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def record(self) -> None:
        length = self._path.stat().st_size if self._path.exists() else 0
        self._connection.execute(
            "INSERT OR REPLACE INTO json_sinks VALUES (?, ?)", (str(self._path), length)
        )
        self._length = length

    def _committed_length(self) -> int | None:
        row = self._connection.execute(
            "SELECT length FROM json_sinks WHERE path = ?", (str(self._path),)
        ).fetchone()
        return None if row is None else int(row[0])
