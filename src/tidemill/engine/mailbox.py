"""Statements from another process for the engine that runs on a home.

A file beside the home's database: whoever runs the streams looks into it between ticks. What
is asked of a runner that ends before it answers is not done by the next one.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from tidemill.engine.home import Home
from tidemill.engine.requests import Answer
from tidemill.errors import Place, Problem, TidemillError, refuse

_TABLE = """
CREATE TABLE IF NOT EXISTS requests (
  id INTEGER PRIMARY KEY, text TEXT, base TEXT, replies TEXT, problem TEXT);
"""
_LOOK_SECONDS = 0.05


class Mailbox:
    """The runner's side."""

    def __init__(self, home: Path) -> None:
        self._connection = _open(home)
        self._connection.execute("DELETE FROM requests")

    def serve(self, answer: Answer) -> None:
        waiting = self._connection.execute(
            "SELECT id, text, base FROM requests WHERE replies IS NULL AND problem IS NULL"
            " ORDER BY id"
        ).fetchall()
        for number, text, base in waiting:
            replies, problem = _answered(answer, text, base)
            self._connection.execute(
                "UPDATE requests SET replies = ?, problem = ? WHERE id = ?",
                (replies, problem, number),
            )

    def close(self) -> None:
        self._connection.close()


class Attached:
    """The other side: the same `sql` as an engine's, carried out by the one that runs."""

    def __init__(
        self, home: str | os.PathLike[str], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._home, self._sleep = Home(Path(home)), sleep
        self._connection = _open(self._home.path)

    def sql(self, text: str, base: str | os.PathLike[str] = ".") -> list[str]:
        cursor = self._connection.execute(
            "INSERT INTO requests (text, base) VALUES (?, ?)", (text, os.path.abspath(base))
        )
        while (found := self._reply(cursor.lastrowid)) is None:
            if not self._home.is_busy:
                _refuse_unanswered()
            self._sleep(_LOOK_SECONDS)
        return found

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Attached:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _reply(self, number: int | None) -> list[str] | None:
        row = self._connection.execute(
            "SELECT replies, problem FROM requests WHERE id = ?", (number,)
        ).fetchone()
        if row is None:  # another runner has come, and does not know whether this was done
            _refuse_unanswered()
        replies, problem = row
        if problem is not None:
            raise TidemillError(_problem(json.loads(problem)))
        return None if replies is None else list(json.loads(replies))


def _refuse_unanswered() -> NoReturn:
    refuse(
        "E_NOT_ANSWERED",
        "the engine that runs on the home has stopped before it answered",
        hint="SHOW QUERIES says whether the statement took effect",
    )


def _answered(answer: Answer, text: str, base: str) -> tuple[str | None, str | None]:
    try:
        return json.dumps(answer(text, base)), None
    except TidemillError as error:
        return None, json.dumps(asdict(error.problem))
    except Exception as error:
        # The streams go on, whatever a statement has broken.
        return None, json.dumps(asdict(Problem("E_INTERNAL", f"the engine failed: {error}")))


def _problem(raw: dict[str, Any]) -> Problem:
    place = raw.pop("place")
    return Problem(**raw, place=Place(**place) if place else None)


def _open(home: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(home / "mailbox.db", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(_TABLE)
    return connection
