"""The home of an engine: one folder that holds everything it must not forget."""

from __future__ import annotations

import fcntl
import os
import secrets
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tidemill.errors import refuse
from tidemill.language.names import Name


@dataclass(frozen=True)
class Holder:
    """The process that holds a home, and the run in it that answers statements; empty: none."""

    process: str
    run: str = ""


class Home:
    """Made only when there is something to keep; held by one process at a time.

    The lock file says which process that is, and names the run that statements of other
    processes can be put to: one that goes on, or one `to_run` as soon as it has started.
    """

    def __init__(self, path: Path, to_run: bool = False) -> None:
        self.path = path.absolute()
        self._run = _new_run() if to_run else ""
        self._lock: IO[str] | None = None
        self._connection: sqlite3.Connection | None = None

    @property
    def exists(self) -> bool:
        return (self.path / "tidemill.db").exists()

    def holder(self) -> Holder | None:
        """The other process that holds the home; None if nobody does."""
        if not (self.path / "lock").exists():
            return None
        with (self.path / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read_holder(lock)
        return None

    @property
    def synopses(self) -> Path:
        return self.path / "synopses"

    @property
    def tables(self) -> Path:
        return self.path / "tables"

    @property
    def staging(self) -> Path:
        return self.path / "staging"

    def stream_folder(self, stream: str) -> Path:
        return self.path / "streams" / Name(stream)

    def open(self) -> sqlite3.Connection:
        """The database, with the home locked; creates both the first time."""
        if self._connection is None:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                self._acquire()
                self._connection = _connect(self.path / "tidemill.db")
            except OSError as error:
                refuse("E_HOME", f"home {self.path} cannot be used", detail=str(error))
        return self._connection

    def begin_run(self) -> str:
        """Let others know that their statements are answered; returns the name of the run."""
        self._run = self._run or _new_run()
        self._tell()
        return self._run

    def end_run(self) -> None:
        self._run = ""
        self._tell()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _acquire(self) -> None:
        # The kernel drops the lock with the process, however it ends.
        lock = (self.path / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read_holder(lock).process or "unknown"
            lock.close()
            refuse(
                "E_HOME_BUSY",
                f"another process runs on home {self.path}",
                detail=f"process {holder}",
                hint="stop it, or give this run a home of its own with --home",
            )
        self._lock = lock
        self._tell()

    def _tell(self) -> None:
        if self._lock is not None:
            self._lock.truncate(0)
            self._lock.write(f"{os.getpid()} {self._run}")
            self._lock.flush()


def _new_run() -> str:
    return secrets.token_hex(8)


def _read_holder(lock: IO[str]) -> Holder:
    """Without a process for the moment in which it is written anew."""
    lock.seek(0)
    process, _, run = lock.read().partition(" ")
    return Holder(process, run)


def _connect(path: Path) -> sqlite3.Connection:
    # One thread at a time uses it: the one that runs the streams, or the one that registers.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection
