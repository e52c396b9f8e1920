"""One policy in a fresh home, while files come at the pace of the clock."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tidemill
from _schedules.load import LONGEST, START_US, UPDATE_US, Pace, SoftQuery, add_files, script
from tidemill.engine.tick.report import TickReport
from tidemill.schedule import History

# After the first tick every query has run once; a second one finds everything warm.
WARM_UPDATES = 60


@dataclass(frozen=True)
class Measures:
    """The figures of one policy in the time that counts."""

    runs_per_s: float  # of queries
    useful_per_s: float
    joint_per_s: float  # runs of several queries as one
    late_updates: float  # beyond the period, on average over runs
    stale_updates: float
    lag_s: float  # from a file's coming until it is in, at the median tick
    most_lag_s: float
    files_waiting: float  # when the next one comes, at the median, then at the end
    last_waiting: int
    tick_s: float  # median, of ticks that take files in
    soft_share: float  # of the time in which a joint run was under way
    planned_s: float


class Watcher:
    """Hears what each tick and each joint run reports."""

    def __init__(self, pace: Pace) -> None:
        self.soft: list[float] = []
        self.ticks: list[float] = []
        self.taken = 0  # files
        self.lags: list[float] = []  # from a file's coming to the commit of the tick with it
        self.waiting: list[int] = []  # files that are not in yet when the next one comes
        self.pace = pace

    def __call__(self, report: TickReport) -> None:
        if "soft" in report.phases:
            self.soft.append(report.phases["soft"] + report.phases["deliver"])
        elif report.watermark_us is not None and report.rows_in:
            self.ticks.append(report.seconds)
            self.lags.append(time.perf_counter() - self.pace.come_s[self.taken])
            self.taken = (report.watermark_us - START_US) // UPDATE_US - LONGEST - WARM_UPDATES

    def look(self) -> None:
        self.waiting.append(len(self.pace.come_s) - self.taken)


def opened(
    home: Path, queries: Sequence[SoftQuery], files: Sequence[Path], policy: str
) -> tidemill.Engine:
    """Plans are made from a sample of the first rows, so these are there before."""
    (home / "in").mkdir(parents=True)
    add_files(home / "in", files[:LONGEST])
    engine = tidemill.Engine(home / "home")
    engine.sql(script(queries, home / "in", policy))
    return engine


def fill(engine: tidemill.Engine, home: Path, files: Sequence[Path]) -> None:
    """All windows are full, and every query has run twice."""
    engine.run("idle")
    add_files(home / "in", files[LONGEST : LONGEST + WARM_UPDATES])
    engine.run("idle")


@dataclass(frozen=True)
class Trial:
    """The parts that are the same for all policies."""

    queries: Sequence[SoftQuery]
    files: Sequence[Path]
    interval_s: float
    seconds: float


def live(home: Path, trial: Trial, policy: str) -> Measures:
    """The policy for so many seconds, with windows that are full when they begin."""
    started = time.perf_counter()
    with opened(home, trial.queries, trial.files, policy) as engine:
        planned_s = time.perf_counter() - started
        fill(engine, home, trial.files)
        before = {name: state.history for name, state in engine.queries.items()}
        pace = Pace(home / "in", trial.files[LONGEST + WARM_UPDATES :], trial.interval_s)
        watcher = Watcher(pace)
        follower = threading.Thread(target=_follow, args=(engine, watcher, trial.seconds))
        follower.start()
        engine.run("stopped", listener=watcher)
        follower.join()
        after = {name: state.history for name, state in engine.queries.items()}
    update = LONGEST + WARM_UPDATES + len(pace.come_s) + START_US // UPDATE_US
    periods = {query.name: query.period for query in trial.queries}
    changes = [_Change.of(before[n], after[n], update, p) for n, p in periods.items()]
    return _measures(changes, watcher, trial.seconds, planned_s)


def _measures(
    changes: Sequence[_Change], watcher: Watcher, seconds: float, planned_s: float
) -> Measures:
    runs = sum(one.runs for one in changes)
    return Measures(
        runs_per_s=runs / seconds,
        useful_per_s=sum(one.useful for one in changes) / seconds,
        joint_per_s=len(watcher.soft) / seconds,
        late_updates=sum(one.extra for one in changes) / max(1, runs),
        stale_updates=statistics.mean(one.aged / max(1, one.span) for one in changes),
        lag_s=statistics.median(watcher.lags),
        most_lag_s=max(watcher.lags),
        files_waiting=statistics.median(watcher.waiting),
        last_waiting=watcher.waiting[-1],
        tick_s=statistics.median(watcher.ticks),
        soft_share=sum(watcher.soft) / seconds,
        planned_s=planned_s,
    )


def _follow(engine: tidemill.Engine, watcher: Watcher, seconds: float) -> None:
    for _ in watcher.pace.follow(seconds):
        watcher.look()
    engine.stop()


@dataclass(frozen=True)
class _Change:
    """The runs of a query between two moments; a wait at the end counts too."""

    runs: int
    useful: float
    extra: int
    aged: int
    span: int

    @staticmethod
    def of(before: History, after: History, update: int, period: int) -> _Change:
        assert before.last_delivery is not None
        ended = after.after(update, period, 0, 1, at=update)
        return _Change(
            after.runs - before.runs,
            after.useful - before.useful,
            ended.extra - before.extra,
            ended.aged - before.aged,
            update - before.last_delivery,
        )
