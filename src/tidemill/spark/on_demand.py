"""Spark, started when something asks for it: most small runs never do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from tidemill.spark.jobs import Workplace, WorkSize, threads_ns, workplace_of
from tidemill.spark.session import Session, cores_of, running_session, start_session

STARTING_SPARK = "starting Spark"
# Until a first job has been done, on two cores: the Java machine, the session, and its workers,
# which load this package and its compiled loops.
START_NS = 7_000_000_000
# A cluster is there to take work off the driver, however many cores it has just now.
CLUSTER_CORES = 80


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
        self._cores: int | None = None
        # What threads did that jobs would have done if there had been Spark.
        self._spared_ns = 0

    def __call__(self, reason: str = "") -> Session:
        with self._lock:
            self._session = self._session or running_session()
            if self._session is None:
                self._notice(f"{STARTING_SPARK} for {reason}" if reason else STARTING_SPARK)
                self._session = self._start(self._master)
            return self._session

    def workplace_of(self, work: WorkSize) -> Workplace:
        """The place that suits the work. Spark is not started for what threads do sooner, until
        they have done so much of it that Spark could have been there by now: in the worst case
        a run has waited twice for what one start costs."""
        place = workplace_of(work, self.cores if self._is_local else CLUSTER_CORES)
        if place is not Workplace.JOB or self._is_there:
            return place
        with self._lock:
            spared_ns = self._spared_ns + threads_ns(work)
            if spared_ns > START_NS:
                return Workplace.JOB
            self._spared_ns = spared_ns
            return Workplace.THREADS

    @property
    def _is_there(self) -> bool:
        """Of a cluster the user has said that large work goes there."""
        return not self._is_local or self._session is not None or running_session() is not None

    @property
    def _is_local(self) -> bool:
        return (self._master or "local").startswith("local")

    @property
    def cores(self) -> int:
        """The tasks that run at a time; only of a cluster must Spark itself be asked."""
        master = self._master or "local[*]"
        if running_session() is None and master.startswith("local"):
            return cores_of(master)
        if self._cores is None:
            self._cores = self("the number of its cores").sparkContext.defaultParallelism
        return self._cores
