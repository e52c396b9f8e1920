"""Joint runs of soft queries, one after the other, on a thread of their own beside the ticks.

The pieces that a run reads are pinned: they stay on disk although ticks are done with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock
from typing import Protocol

from tidemill.answer.task import TaskResult
from tidemill.catalog import Stream
from tidemill.clock import Clock
from tidemill.engine.beside.agenda import JointRun, OneTimeRun
from tidemill.engine.tick.report import TickReport
from tidemill.schedule import Shares


class Pins:
    """The runs that are under way or not yet delivered, and files that wait for their end."""

    def __init__(self) -> None:
        # A tick must not remove pieces after a run was chosen and before it is pinned.
        self._lock = Lock()
        self._runs: list[JointRun | OneTimeRun] = []
        self._outdated: list[Path] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The queries of all runs."""
        with self._lock:
            return tuple(name for run in self._runs for name in run.names)

    def pin(
        self, choose: Callable[[], JointRun | OneTimeRun | None]
    ) -> JointRun | OneTimeRun | None:
        with self._lock:
            run = choose()
            self._runs += [run] if run else []
        return run

    def unpin(self, ended: JointRun | OneTimeRun) -> None:
        with self._lock:
            self._runs = [run for run in self._runs if run is not ended]

    def drop(self, files: Iterable[Path]) -> None:
        """Remove files that no version names any more, as soon as nobody reads them."""
        with self._lock:
            self._outdated += files
            if not self._runs:
                for path in self._outdated:
                    path.unlink(missing_ok=True)
                self._outdated.clear()


# Runs that have been answered and wait for the tick under way to end.
MOST_WAITING = 32


class Runner(Protocol):
    """A stream, as far as its soft queries are concerned; all but `end_soft` may be called while
    a tick is under way, but by one thread only."""

    @property
    def stream(self) -> Stream: ...

    def has_soft(self) -> bool: ...

    def next_soft(self) -> JointRun | OneTimeRun | None: ...

    def answer_soft(self, run: JointRun) -> list[TaskResult]: ...

    def select(self, run: OneTimeRun) -> None: ...

    def end_soft(self, answered: AnsweredRun) -> TickReport: ...


@dataclass(frozen=True)
class AnsweredRun:
    """A joint run with its answers."""

    runner: Runner
    run: JointRun
    results: list[TaskResult]
    seconds: float


class SoftRuns(AbstractContextManager["SoftRuns"]):
    """Answers are made on the other thread and delivered on the caller's, between its ticks.

    Streams are served by weight: the one goes first that has had least of the time it may have.
    """

    def __init__(self, note: Callable[[TickReport], object], stop: Event, clock: Clock) -> None:
        self._note, self._stop, self._clock = note, stop, clock
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="soft")
        self._at_work: Future[None] | None = None
        self._enough = Event()
        self._answered: SimpleQueue[AnsweredRun] = SimpleQueue()
        self._shares = Shares()

    def start(self, runners: Sequence[Runner]) -> bool:
        """Begin with what is due, unless that is under way; runs follow each other from there."""
        if self.is_busy or self._stop.is_set() or not any(runner.has_soft() for runner in runners):
            return False
        self._check()
        self._enough.clear()
        self._at_work = self._pool.submit(self._work, tuple(runners))
        return True

    def collect(self, seconds: float) -> bool:
        """Deliver what has been answered; wait so long at most for the first."""
        is_any = False
        while (answered := self._next(0.0 if is_any or not self.is_busy else seconds)) is not None:
            self._note(answered.runner.end_soft(answered))
            is_any = True
        return is_any

    def finish(self) -> bool:
        """Let the run that is under way be the last, and deliver all that was answered."""
        self._enough.set()
        return self.settle()

    def settle(self) -> bool:
        """Wait until nothing more is due, or the run that is under way when all is to stop has
        ended, and deliver it all."""
        is_any = False
        while self.is_busy:
            is_any |= self.collect(1.0)
        self._check()
        return self.collect(0.0) or is_any

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._enough.set()
        self._pool.shutdown()

    @property
    def is_busy(self) -> bool:
        return self._at_work is not None and not self._at_work.done()

    @property
    def _is_enough(self) -> bool:
        return self._enough.is_set() or self._stop.is_set()

    def _check(self) -> None:
        """Raise an error of the other thread on this one."""
        if self._at_work is not None:
            self._at_work.result()

    def _next(self, seconds: float) -> AnsweredRun | None:
        try:
            return self._answered.get(timeout=seconds) if seconds else self._answered.get_nowait()
        except Empty:
            return None

    def _work(self, runners: Sequence[Runner]) -> None:
        while not self._is_enough and self._answered.qsize() < MOST_WAITING:
            weights = {r.stream.name: float(r.stream.weight) for r in runners if r.has_soft()}
            name = self._shares.next(weights)
            if name is None:
                return
            runner = next(runner for runner in runners if runner.stream.name == name)
            started_s = self._clock.elapsed_s()
            self._answer(runner, started_s)
            took = self._clock.elapsed_s() - started_s
            self._shares = self._shares.after(name, took, weights[name])

    def _answer(self, runner: Runner, started_s: float) -> None:
        run = runner.next_soft()
        if isinstance(run, OneTimeRun):
            runner.select(run)
        elif run is not None:
            results = runner.answer_soft(run)
            took = self._clock.elapsed_s() - started_s
            self._answered.put(AnsweredRun(runner, run, results, took))
