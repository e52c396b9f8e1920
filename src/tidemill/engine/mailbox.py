"""Statements from another process for the engine that runs on a home.

A file beside the home's database: whoever runs the streams looks into it between ticks. A
statement is put to one run, the one that the home's lock names; what is asked of a run that
ends before it answers is not done by the next one.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any, NoReturn

from tidemill.engine.home import Holder, Home
from tidemill.engine.pending import CarryOut, Replies, deliver_replies
from tidemill.engine.register.script import Notice
from tidemill.errors import Place, Problem, TidemillError, refuse

_TABLE = """
CREATE TABLE IF NOT EXISTS statements (
  id INTEGER PRIMARY KEY, run TEXT, text TEXT, base TEXT, replies TEXT, problem TEXT);
"""
_LOOK_SECONDS = 0.05
# For another process to be done with the file: it has it for milliseconds, if it comes to run.
_PATIENCE_SECONDS = 60.0


class Mailbox(AbstractContextManager["Mailbox"]):
    """The side of a run: takes the statements that are put to it, and writes their replies."""

    def __init__(self, home: Path, run: str) -> None:
        self._connection = _open(home)
        self._connection.execute("DELETE FROM statements WHERE run <> ?", (run,))
        # The last one; a SELECT may be answered long after the next look.
        self._taken = 0
        self._lock = Lock()
        self._replies: SimpleQueue[tuple[str | None, str | None, int]] = SimpleQueue()

    def serve(self, carry_out: CarryOut) -> None:
        self._send()
        with self._lock:
            waiting = self._connection.execute(
                "SELECT id, text, base FROM statements WHERE id > ? ORDER BY id", (self._taken,)
            ).fetchall()
        for number, text, base in waiting:
            self._taken = number
            deliver_replies(carry_out, text, base, partial(self._reply, number))
            self._send()

    def _reply(self, number: int, replies: Replies) -> None:
        """As soon as it is there: by the thread that ticks, or the one that answers beside it.

        A reply that cannot be written now is written when this is looked into next.
        """
        self._replies.put((*_as_json(replies), number))
        with suppress(sqlite3.Error):
            self._send()

    def _send(self) -> None:
        with self._lock:
            while not self._replies.empty():
                reply = self._replies.get()
                try:
                    self._connection.execute(
                        "UPDATE statements SET replies = ?, problem = ? WHERE id = ?", reply
                    )
                except sqlite3.Error:
                    self._replies.put(reply)
                    raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()


class Attached(AbstractContextManager["Attached"]):
    """The side of another process: the same `sql` as an engine's, carried out by the run."""

    def __init__(
        self,
        home: str | os.PathLike[str],
        sleep: Callable[[float], None] = time.sleep,
        notice: Notice | None = None,
    ) -> None:
        self._home, self._sleep = Home(Path(home)), sleep
        self._notice: Notice = notice or (lambda _: None)
        self._runner()
        self._connection = _open(self._home.path)

    def sql(self, text: str, base: str | os.PathLike[str] = ".") -> list[str]:
        """The replies of the run; one that is starting is waited for."""
        runner = self._runner()
        cursor = self._connection.execute(
            "INSERT INTO statements (run, text, base) VALUES (?, ?, ?)",
            (runner.run, text, os.path.abspath(base)),
        )
        while True:
            # Looked up before the reply, since a run's last one may come just before its end.
            holder = self._holder()
            if (texts := self._reply(cursor.lastrowid, runner.run)) is not None:
                return texts
            if holder != runner:
                _refuse_unanswered()
            self._notice(f"waiting for the run of process {runner.process}")
            self._sleep(_LOOK_SECONDS)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def _holder(self) -> Holder | None:
        while (holder := self._home.holder()) is not None and not holder.process:
            self._sleep(_LOOK_SECONDS)
        return holder

    def _runner(self) -> Holder:
        """The holder of the home, if a run is there to ask."""
        holder = self._holder()
        if holder is None:
            refuse(
                "E_NOT_ANSWERED",
                f"nothing runs on home {self._home.path} any more",
                hint="start tidemill sql again",
            )
        if not holder.run:
            refuse(
                "E_HOME_BUSY",
                f"home {self._home.path} is held by a process that runs no streams",
                detail=f"process {holder.process}",
                hint="end it first; statements can be put to a home that tidemill run runs on",
            )
        return holder

    def _reply(self, number: int | None, run: str) -> list[str] | None:
        # With the run, since a number is given again when its statement is forgotten.
        row = self._connection.execute(
            "SELECT replies, problem FROM statements WHERE id = ? AND run = ?", (number, run)
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


def _as_json(replies: Replies) -> tuple[str | None, str | None]:
    """The texts of the replies, or the problem."""
    try:
        return json.dumps([str(reply) for reply in replies.result()]), None
    except TidemillError as error:
        problem = error.problem
    except BaseException as error:
        # The streams go on, whatever a statement has broken.
        problem = Problem("E_INTERNAL", f"the engine failed: {error}")
    return None, json.dumps(asdict(problem))


def _problem(raw: dict[str, Any]) -> Problem:
    place = raw.pop("place")
    return Problem(**raw, place=Place(**place) if place else None)


def _open(home: Path) -> sqlite3.Connection:
    # Without a write-ahead log: of two processes that open a new file and turn to one, the second
    # fails at once, however long it would wait.
    connection = sqlite3.connect(
        home / "mailbox.db", _PATIENCE_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.executescript(_TABLE)
    return connection
