"""What a stream's ticks need and do not own, and what each of them reports."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from tidemill.catalog import Stream
from tidemill.catalog.names import Name
from tidemill.clock import Clock
from tidemill.connect.sinks import SinkWriter
from tidemill.engine.beside.one_time import Selecting
from tidemill.engine.beside.selects import Selects
from tidemill.engine.home import Home
from tidemill.engine.tick.journal import Journal, QueryState
from tidemill.failpoints import Failpoint
from tidemill.plan.query import QueryPlan
from tidemill.settings import Settings
from tidemill.share import EngineCosts, SharedPlan
from tidemill.spark.catalyst.joins import Tables
from tidemill.spark.session import Session
from tidemill.state.feed import Feed
from tidemill.state.synopsis import Synopsis


@dataclass(frozen=True)
class Surroundings:
    session: Callable[[], Session]  # starts Spark when it is first called
    home: Home
    journal: Journal
    clock: Clock
    settings: Settings
    plan: SharedPlan
    feeds: Mapping[Name, tuple[Feed, ...]]  # by stream
    tables: Tables
    paused: frozenset[str]
    sinks: Mapping[str, SinkWriter]  # by query
    queries: dict[str, QueryState]
    subscribers: Mapping[str, list[Callable[[pa.Table], None]]]
    buckets: Mapping[str, int]  # by synopsis
    costs: Mapping[Name, EngineCosts]  # by stream
    failpoint: Failpoint
    selects: Selects
    selecting: Selecting

    def synopses_of(self, stream: Stream) -> dict[str, Synopsis]:
        return {synopsis.id: synopsis for synopsis in self.plan.of_stream(stream.key)}

    def queries_of(self, stream: Stream) -> tuple[QueryPlan, ...]:
        return self.plan.queries_of(stream.key)


@dataclass(frozen=True)
class TickReport:
    """What one tick did, for progress and metrics."""

    stream: str
    tick: int
    rows_in: int
    rows_late: int
    rows_malformed: int
    answers: Mapping[str, int]
    watermark_us: int | None
    seconds: float
    phases: Mapping[str, float] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    route: str = ""  # who made the partials


class Stopwatch:
    """Seconds by step of a tick."""

    def __init__(self) -> None:
        self.phases: dict[str, float] = {}
        self._started = time.perf_counter()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.add(name, time.perf_counter() - started)

    def add(self, name: str, seconds: float) -> None:
        self.phases[name] = self.phases.get(name, 0.0) + seconds

    def total(self) -> float:
        return time.perf_counter() - self._started
