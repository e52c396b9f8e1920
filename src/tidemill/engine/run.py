"""The loop around the ticks: take what there is, stop when asked or done."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tidemill.clock import Clock
from tidemill.engine.beside.runs import SoftRuns
from tidemill.engine.tick.journal import QueryState
from tidemill.engine.tick.report import TickReport
from tidemill.engine.tick.runner import StreamRunner
from tidemill.share import SharedPlan

Listener = Callable[[TickReport], None]
Between = Callable[[list[StreamRunner]], list[StreamRunner]]


@dataclass
class RunReport:
    """The counts and times of a run; `tidemill run --metrics` writes them."""

    rows_in: int = 0
    rows_late: int = 0
    rows_malformed: int = 0
    ticks: int = 0
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    queries: dict[str, int] = field(default_factory=dict)
    raised: dict[str, int] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)
    schedule: dict[str, dict[str, object]] = field(default_factory=dict)  # of soft queries
    routes: dict[str, int] = field(default_factory=dict)  # ticks by who made the partials
    skipped_files: dict[str, str] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)  # queries, and why each was stopped
    streams: dict[str, dict[str, object]] = field(default_factory=dict)
    plan: dict[str, object] = field(default_factory=dict)

    def add(self, tick: TickReport) -> None:
        self.rows_in += tick.rows_in
        self.rows_late += tick.rows_late
        self.rows_malformed += tick.rows_malformed
        self.ticks += 1
        for name, seconds in tick.phases.items():
            self.phases[name] = self.phases.get(name, 0.0) + seconds
        for query, count in tick.answers.items():
            self.queries[query] = self.queries.get(query, 0) + count
        self.skipped_files.update(tick.skipped)
        if tick.route:
            self.routes[tick.route] = self.routes.get(tick.route, 0) + 1


class RunLoop:
    """One run of all streams, in turn, in one thread; soft queries have another.

    `between` is called where no tick is under way; the plan may then have changed, and it
    returns the streams as they are to be run from there on.
    """

    def __init__(
        self,
        runners: list[StreamRunner],
        between: Between,
        clock: Clock,
        poll_seconds: float,
        stop: threading.Event,
        listener: Listener | None,
    ) -> None:
        self.runners, self._between = runners, between
        self._clock, self._poll_seconds = clock, poll_seconds
        self._stop, self._listener = stop, listener
        self.report = RunReport()
        self.soft = SoftRuns(self._note, stop)

    def go(self, until: str) -> RunReport:
        started = time.perf_counter()
        for runner in self.runners:
            self._note(runner.recover())
        self._take(draining=until != "stopped")
        if until == "flush" and not self._stop.is_set():
            self.runners = self._between(self.runners)
            for runner in self.runners:
                self._note(runner.flush())
            self._answer_soft(draining=True)
        self.soft.finish()
        self.report.seconds = time.perf_counter() - started
        return self.report

    def _take(self, draining: bool) -> None:
        while not self._stop.is_set():
            ticked = [self._tick(number, draining) for number in range(len(self.runners))]
            if self._answer_soft(draining) or any(ticked):
                continue
            if draining and all(runner.is_done() for runner in self.runners):
                return
            for runner in self.runners:
                runner.idle()
            if self.soft.is_busy:
                self.soft.collect(self._poll_seconds)
            else:
                self._clock.sleep(self._poll_seconds)

    def _answer_soft(self, draining: bool) -> bool:
        """Soft queries that are due: all of them before the next tick where input only waits to
        be taken, else as many as there is time for, beside the ticks."""
        if not draining:
            return self.soft.collect(0.0) | self._start_soft()
        is_any = False
        while self._start_soft():
            is_any |= self.soft.settle()
        return is_any

    def _start_soft(self) -> bool:
        # A listener that was told of a tick may have changed the plan.
        self.runners = self._between(self.runners)
        return self.soft.start(self.runners)

    def _tick(self, number: int, draining: bool) -> bool:
        self.runners = self._between(self.runners)
        # A change may have left fewer streams than there were.
        return number < len(self.runners) and self._note(self.runners[number].tick(draining))

    def _note(self, tick: TickReport | None) -> bool:
        if tick is None:
            return False
        self.report.add(tick)
        if self._listener:
            self._listener(tick)
        return True


def describe_run(
    report: RunReport,
    runners: list[StreamRunner],
    plan: SharedPlan,
    queries: Mapping[str, QueryState],
) -> None:
    """Complete a report with the state of streams, queries and plan at the end of the run."""
    report.queries = {name: report.queries.get(name, 0) for name in queries}
    report.raised = {name: state.raised for name, state in queries.items()}
    report.troubles = {n: s.user_error for n, s in queries.items() if s.user_error and s.raised}
    report.schedule = {
        query.name: queries[query.name].history.metrics(query.window.updates)
        for query in plan.queries
        if query.is_soft
    }
    report.streams = {runner.stream.name: runner.describe() for runner in runners}
    report.plan = {
        "version": plan.version,
        "queries": len(plan.queries),
        "synopses": [
            {
                "id": s.id,
                "members": [query.name for query, _ in plan.readers_of(s)],
                "lanes": [lane.sql for lane in s.lanes],
            }
            for s in plan.synopses
        ],
    }


@contextmanager
def long_lived_objects() -> Iterator[None]:
    """Nothing that exists now is looked through for garbage while this lasts.

    The plan of a thousand queries is a million objects: to look through them takes a third of
    a second, and allocating answers makes the collector do so every other tick.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
