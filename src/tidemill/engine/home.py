"""The home of an engine: one folder that holds everything it must not forget."""

from __future__ import annotations

import fcntl
import os
import secrets
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tidemill.errors import refuse
from tidemill.language.names import Name

# As long as it takes others to look at a lock.
_LOOK_SECONDS = 0.001


@dataclass(frozen=True)
class Holder:
    """The process that holds a home, and the run in it that answers statements; empty: none."""

    process: str
    run: str = ""


class Home:
    """Held by one process at a time, from its opening on; nothing of it stays if nothing is kept.

    The lock file says which process that is, and names the run that statements of other
    processes can be put to: one that goes on, or one `to_run` as soon as it has started.
    """

    def __init__(self, path: Path, to_run: bool = False) -> None:
        self.path = path.absolute()
        self._run = _new_run() if to_run else ""
        self._lock: IO[str] | None = None
        self._connection: sqlite3.Connection | None = None
        self._new_folders: list[Path] = []  # the innermost first

    @property
    def exists(self) -> bool:
        return (self.path / "tidemill.db").exists()

    def holder(self) -> Holder | None:
        """The other process that holds the home; None if nobody does."""
        try:
            with (self.path / "lock").open("r+") as lock:
                return _holder_of(lock)
        except FileNotFoundError:
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

    @property
    def handovers(self) -> Path:
        return self.path / "handovers"

    def stream_folder(self, stream: str) -> Path:
        return self.path / "streams" / Name(stream)

    def hold(self) -> None:
        """Lock the home, whether it has anything in it or not; others find it busy."""
        if self._lock is not None:
            return
        try:
            folders = (self.path, *self.path.parents)
            self._new_folders = [folder for folder in folders if not folder.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
            self._acquire()
        except OSError as error:
            refuse("E_HOME", f"home {self.path} cannot be used", detail=str(error))

    def open(self) -> sqlite3.Connection:
        """The database, with the home locked; creates both the first time."""
        if self._connection is None:
            self.hold()
            try:
                self._connection = _connect(self.path / "tidemill.db")
            except (OSError, sqlite3.Error) as error:
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
            if not self.exists:
                self._leave_nothing()
            self._lock.close()
            self._lock = None

    def _leave_nothing(self) -> None:
        (self.path / "lock").unlink(missing_ok=True)
        with suppress(OSError):  # somebody else has put something there
            for folder in self._new_folders:
                folder.rmdir()

    def _acquire(self) -> None:
        # The kernel drops the lock with the process, however it ends.
        lock = (self.path / "lock").open("a+")
        if not _take(lock):
            holder = _read_holder(lock).process or "unknown"
            lock.close()
            refuse(
                "E_HOME_BUSY",
                f"another process runs on home {self.path}",
                detail=f"process {holder}",
                hint="stop it, or give this run a home of its own with --home",
            )
        if not _is_at(lock, self.path / "lock"):
            # Whoever held it went and left nothing between our opening and our locking it.
            lock.close()
            self.path.mkdir(parents=True, exist_ok=True)
            return self._acquire()
        self._lock = lock
        self._tell()

    def _tell(self) -> None:
        if self._lock is not None:
            self._lock.truncate(0)
            self._lock.write(f"{os.getpid()} {self._run}")
            self._lock.flush()


def _new_run() -> str:
    return secrets.token_hex(8)


def _take(lock: IO[str]) -> bool:
    """False if another process holds it. One that only looks for the holder shares it for a
    moment, and is waited for."""
    while not _try_lock(lock, fcntl.LOCK_EX):
        if not _try_lock(lock, fcntl.LOCK_SH):
            return False
        fcntl.flock(lock, fcntl.LOCK_UN)  # else two that want it would wait for each other
        time.sleep(_LOOK_SECONDS)
    return True


def _holder_of(lock: IO[str]) -> Holder | None:
    return None if _try_lock(lock, fcntl.LOCK_SH) else _read_holder(lock)


def _try_lock(lock: IO[str], operation: int) -> bool:
    try:
        fcntl.flock(lock, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(lock: IO[str], path: Path) -> bool:
    """True if the open file is still the one that the path names."""
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False


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
