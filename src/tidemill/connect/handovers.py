"""Handovers: rows that ticks of one stream leave for another one, in files below the home.

A tick writes the files before its commit, and the commit names them here, under a number that no
other handover of the home ever has. The commit of the tick that takes them forgets them. So they
come once, however processes end; files that are not named are strays, and are swept.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tidemill.language.names import Name

_TABLE = """
CREATE TABLE IF NOT EXISTS handovers (
  number INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT NOT NULL, files TEXT NOT NULL,
  rows INTEGER NOT NULL, promised_us INTEGER);
CREATE INDEX IF NOT EXISTS handovers_by_stream ON handovers (stream, number);
"""


@dataclass(frozen=True)
class Handover:
    """The rows of one tick; with them, or alone, may come a promise that none to come is older."""

    number: int
    files: tuple[str, ...]  # names in the folder of the stream that takes them
    rows: int
    promised_us: int | None = None


class Handovers(Protocol):
    """What has been handed over, for those who take it."""

    def place(self, stream: Name) -> Path:
        """The folder of what is handed over to a stream."""

    def after(self, stream: Name, number: int) -> Sequence[Handover]:
        """To a stream, later than the one of that number, in order."""

    def promise(self, stream: Name) -> int | None:
        """The last promise for a stream that nobody has taken."""


class NoHandovers:
    """Where there is no home yet."""

    def place(self, stream: Name) -> Path:
        return Path(stream)

    def after(self, stream: Name, number: int) -> Sequence[Handover]:
        return ()

    def promise(self, stream: Name) -> int | None:
        return None


class HandoverLedger:
    """The handovers of a home, whose files lie in `folder`.

    What changes it is called within the transaction of a commit.
    """

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self._connection, self._folder = connection, folder
        connection.executescript(_TABLE)

    def place(self, stream: Name) -> Path:
        return self._folder / stream

    def after(self, stream: Name, number: int) -> Sequence[Handover]:
        rows = self._connection.execute(
            "SELECT number, files, rows, promised_us FROM handovers"
            " WHERE stream = ? AND number > ? AND rows > 0 ORDER BY number",
            (stream, number),
        )
        return [Handover(key, tuple(json.loads(names)), *of) for key, names, *of in rows]

    def promise(self, stream: Name) -> int | None:
        promises = "SELECT MAX(promised_us) FROM handovers WHERE stream = ?"
        (promised_us,) = self._connection.execute(promises, (stream,)).fetchone()
        return None if promised_us is None else int(promised_us)

    def add(
        self, stream: Name, files: Sequence[str], rows: int, promised_us: int | None = None
    ) -> None:
        """Rows in files of these names; a later promise takes the place of one without rows."""
        self._connection.execute("DELETE FROM handovers WHERE stream = ? AND rows = 0", (stream,))
        self._connection.execute(
            "INSERT INTO handovers (stream, files, rows, promised_us) VALUES (?, ?, ?, ?)",
            (stream, json.dumps(files), rows, promised_us),
        )

    def remove(self, stream: Name, number: int) -> list[Path]:
        """Forget all up to that number; the files are the caller's to remove after the commit."""
        rows = self._connection.execute(
            "DELETE FROM handovers WHERE stream = ? AND number <= ? RETURNING files",
            (stream, number),
        )
        return [self.place(stream) / name for (names,) in rows for name in json.loads(names)]

    def forget(self, stream: Name) -> None:
        """Forget everything for a stream that nobody reads any more."""
        self._connection.execute("DELETE FROM handovers WHERE stream = ?", (stream,))

    def sweep(self, stream: Name, pending: Collection[str] = ()) -> None:
        """Remove files that no commit names, but for those that one still may."""
        named = {name for handover in self.after(stream, 0) for name in handover.files}
        for path in self.place(stream).glob("*"):
            if path.name not in named and path.name not in pending:
                path.unlink(missing_ok=True)
