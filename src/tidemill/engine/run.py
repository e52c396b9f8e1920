"""The loop around the ticks: take what there is, stop when asked or done."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from tidemill.clock import Clock
from tidemill.engine.beside.runs import SoftRuns
from tidemill.engine.tick.journal import QueryState
from tidemill.engine.tick.report import Look, TickReport
from tidemill.engine.tick.runner import StreamRunner
from tidemill.engine.waits.held import refuse_held
from tidemill.errors import TidemillError
from tidemill.language.names import Name, answered_by
from tidemill.share import SharedPlan

Listener = Callable[[TickReport], None]
Between = Callable[[list[StreamRunner]], list[StreamRunner]]


@dataclass
class RunReport:
    """The counts and times of a run; `tidemill run --metrics` writes them."""

    rows_in: int = 0
    rows_late: int = 0
    rows_malformed: int = 0
    rows_corrected: int = 0
    ticks: int = 0
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    queries: dict[str, int] = field(default_factory=dict)
    raised: dict[str, int] = field(default_factory=dict)
    empty_windows_skipped: dict[str, int] = field(default_factory=dict)  # by query, in long gaps
    troubles: dict[str, str] = field(default_factory=dict)
    subscriber_errors: dict[str, str] = field(default_factory=dict)  # by query
    schedule: dict[str, dict[str, object]] = field(default_factory=dict)  # of soft queries
    routes: dict[str, int] = field(default_factory=dict)  # ticks by who made the partials
    skipped_files: dict[str, str] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)  # queries, and why each was stopped
    failed_streams: dict[str, str] = field(default_factory=dict)  # and why each failed
    streams: dict[str, dict[str, object]] = field(default_factory=dict)
    plan: dict[str, object] = field(default_factory=dict)

    def add(self, tick: TickReport) -> None:
        self.rows_in += tick.rows_in
        self.rows_late += tick.rows_late
        self.rows_corrected += tick.rows_corrected
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
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.runners, self._between = runners, between
        self._clock, self._poll_seconds = clock, poll_seconds
        self._stop, self._listener, self._notice = stop, listener, notice
        self.report = RunReport()
        self.soft = SoftRuns(self._note, stop, clock)
        self._failed: set[Name] = set()

    def go(self, until: str) -> RunReport:
        started = time.perf_counter()
        for runner in self.runners:
            self._carry_out(runner, runner.recover)
        self._take(draining=until != "stopped")
        if until == "flush" and not self._stop.is_set():
            self._flush()
        self.soft.finish()
        self.report.seconds = time.perf_counter() - started
        return self.report

    def _flush(self) -> None:
        """Level by level: what one stream's flush hands over is taken before the next one's."""
        self.runners = self._between(self.runners)
        for level in sorted({runner.stream.level for runner in self.runners}):
            if level:
                self._take(draining=True)
            flushed = [runner for runner in self._live() if runner.stream.level == level]
            # What is put together with these closes once all of them promise as much.
            names = {name for runner in flushed for name in (runner.stream.key, *runner.beside)}
            together = [runner for runner in self._live() if runner.stream.key in names]
            for runner in together:
                is_due = runner.stream.level <= level and not self._stop.is_set()
                if is_due and not self._is_held(runner):
                    self._carry_out(runner, runner.flush)
        self._answer_soft(draining=True)

    def looks(self) -> dict[Name, Look]:
        """By stream, what was met at its source the last time."""
        failures = {Name(name): why for name, why in self.report.failed_streams.items()}
        return {
            runner.stream.key: _with_failure(runner.look, failures.get(runner.stream.key, ""))
            for runner in self.runners
        }

    def _take(self, draining: bool) -> None:
        while not self._stop.is_set():
            ticked = [self._tick_one(streams, draining) for streams in self._together()]
            if self._answer_soft(draining) or any(ticked):
                continue
            if draining:
                self._refuse_held()
            if draining and all(runner.is_done() for runner in self._live()):
                return
            if any(runner.go_on() for runner in self._live()):
                continue
            for runner in self._live():
                runner.idle()
            if self.soft.is_busy:
                self.soft.collect(self._poll_seconds)
            else:
                self._clock.sleep(self._poll_seconds)

    def _refuse_held(self) -> None:
        """Nothing more can be taken, and some of what is there may not."""
        for runner in self._live():
            if runner.hold is not None:
                refuse_held(runner.hold)

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
        return self.soft.start([runner for runner in self._live() if not self._is_held(runner)])

    def _together(self) -> list[tuple[Name, ...]]:
        """The streams by those whose rows are put together; most stand alone."""
        groups = {
            (r.stream.key, *r.beside): tuple(sorted((r.stream.key, *r.beside)))
            for r in self.runners
        }
        return list(dict.fromkeys(groups.values()))

    def _tick_one(self, streams: tuple[Name, ...], draining: bool) -> bool:
        """A tick of the first of the streams that has input: the least advanced goes first."""
        self.runners = self._between(self.runners)
        # A change may have left fewer streams than there were.
        runners = [runner for runner in self._live() if runner.stream.key in streams]
        return any(
            self._carry_out(runner, partial(runner.tick, draining))
            for runner in sorted(runners, key=_advance)
            if not self._is_held(runner)
        )

    def _is_held(self, runner: StreamRunner) -> bool:
        """True if a stream beside it has failed in a tick that must be finished before."""
        return any(
            other.stream.key in runner.beside
            for other in self.runners
            if other.stream.key in self._failed and other.is_interrupted
        )

    def _live(self) -> list[StreamRunner]:
        return [runner for runner in self.runners if runner.stream.key not in self._failed]

    def _carry_out(self, runner: StreamRunner, work: Callable[[], TickReport | None]) -> bool:
        """A stream that fails rests until the next run, and the others go on; the last one that
        fails ends the run. A tick that it was in the middle of is finished by the next run."""
        try:
            return self._note(work())
        except Exception as error:
            if len(self._live()) == 1:
                raise
            self._failed.add(runner.stream.key)
            runner.rest()
            self.report.failed_streams[runner.stream.name] = _sentence(error)
            self._notice(f"stream {runner.stream.name} has failed: {_sentence(error)}")
            return False

    def _note(self, tick: TickReport | None) -> bool:
        if tick is None:
            return False
        self.report.add(tick)
        if self._listener:
            self._listener(tick)
        return True


def _advance(runner: StreamRunner) -> tuple[bool, int]:
    """How far the time of a stream has come; one that has not begun is behind all others."""
    newest_us = runner.state.time.newest_us
    return newest_us is not None, newest_us or 0


def _with_failure(look: Look, failure: str) -> Look:
    """One that has ended the stream's run comes first."""
    return replace(look, failure=failure or look.failure)


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, TidemillError) else f"{type(error).__name__}: {error}"


def describe_run(
    report: RunReport,
    runners: list[StreamRunner],
    plan: SharedPlan,
    queries: Mapping[str, QueryState],
) -> None:
    """Complete a report with the state of streams, queries and plan at the end of the run."""
    # A query that was dropped has had its answers.
    names = (name for name in queries if answered_by(name) is None)
    report.queries = {**dict.fromkeys(names, 0), **report.queries}
    report.raised = {name: state.raised for name, state in queries.items()}
    skipped = {name: state.gaps.skipped for name, state in queries.items()}
    report.empty_windows_skipped = {name: count for name, count in skipped.items() if count}
    report.troubles = {n: s.user_error for n, s in queries.items() if s.user_error and s.raised}
    report.schedule = {
        query.name: queries[query.name].history.metrics(query.window.updates)
        for query in plan.queries
        if query.is_soft
    }
    report.streams = {runner.stream.name: runner.describe() for runner in runners}
    report.plan = {
        "version": plan.version,
        "queries": len(plan.every_query),
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
