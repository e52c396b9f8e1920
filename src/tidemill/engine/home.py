"""The home of an engine: one folder that holds everything it must not forget."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from pathlib import Path
from typing import IO

from tidemill.errors import refuse


class Home:
    """Made only when there is something to keep; held by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock: IO[str] | None = None
        self._connection: sqlite3.Connection | None = None

    @property
    def exists(self) -> bool:
        return (self.path / "tidemill.db").exists()

    @property
    def is_busy(self) -> bool:
        """Whether another process holds the home."""
        if not (self.path / "lock").exists():
            return False
        with (self.path / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

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
        return self.path / "streams" / stream.lower()

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
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            lock.close()
            refuse(
                "E_HOME_BUSY",
                f"another process runs on home {self.path}",
                detail=f"process {holder}",
                hint="stop it, or give this run a home of its own with --home",
            )
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock


def _connect(path: Path) -> sqlite3.Connection:
    # One thread at a time uses it: the one that runs the streams, or the one that registers.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection
