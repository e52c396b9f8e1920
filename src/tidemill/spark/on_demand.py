"""Spark, started when something asks for it: most small runs never do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from tidemill.spark.session import Session, cores_of, running_session, start_session

STARTING_SPARK = "starting Spark"


class AskSession(Protocol):
    """Gives the session, and starts Spark for that if need be; `reason` says what it is for."""

    def __call__(self, reason: str = "") -> Session: ...


class SparkOnDemand:
    """Calling it gives the session, with what it is needed for: the user who waits is told."""

    def __init__(
        self,
        master: str | None,
        notice: Callable[[str], None],
        start: Callable[[str | None], Session] = start_session,
    ) -> None:
        self._master, self._notice, self._start = master, notice, start
        self._lock = threading.Lock()
        self._session: Session | None = None

    def __call__(self, reason: str = "") -> Session:
        with self._lock:
            self._session = self._session or running_session()
            if self._session is None:
                self._notice(f"{STARTING_SPARK} for {reason}" if reason else STARTING_SPARK)
                self._session = self._start(self._master)
            return self._session

    @property
    def cores(self) -> int:
        """The tasks that run at a time; only of a cluster must Spark itself be asked."""
        master = self._master or "local[*]"
        if running_session() is None and master.startswith("local"):
            return cores_of(master)
        return self("the number of its cores").sparkContext.defaultParallelism
