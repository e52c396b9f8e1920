"""The context of ticks: values that they need and do not own, a part for each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidemill.answer.task import AnswerFolders
from tidemill.catalog import Stream
from tidemill.clock import Clock
from tidemill.connect.handovers import HandoverLedger
from tidemill.connect.sinks import SinkWriter
from tidemill.engine.beside.agenda import Agenda
from tidemill.engine.beside.one_time import OneTimeAnswerer
from tidemill.engine.beside.runs import Pins
from tidemill.engine.home import Home
from tidemill.engine.subscribers import Subscribers
from tidemill.engine.tick.journal import Journal, QueryState, StreamState
from tidemill.failpoints import Failpoint
from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.settings import Settings
from tidemill.share import SharedPlan
from tidemill.spark.catalyst.joins import Tables
from tidemill.spark.jobs import SparkAccess
from tidemill.state.feed import Feed
from tidemill.state.row_pieces import RowFeed


@dataclass(frozen=True)
class FoldContext:
    """For steps 1 to 3: how rows are read and scanned, and the folders that pieces go to."""

    session: SparkAccess
    home: Home
    journal: Journal
    scan: str  # the setting
    feeds: Mapping[Name, tuple[Feed, ...]]  # by stream
    row_feeds: Mapping[Name, tuple[RowFeed, ...]]  # by stream
    tables: Tables
    buckets: Mapping[str, int]  # by synopsis
    failpoint: Failpoint
    # By stream and verdict, the streams that are read of what it sets aside.
    sides: Mapping[Name, Mapping[int, Name]]


@dataclass(frozen=True)
class DecideContext:
    """For step 4: whose windows close, and how many pieces a synopsis may have."""

    plan: SharedPlan
    paused: frozenset[str]
    buckets: Mapping[str, int]  # by synopsis
    snapshot_pieces: int  # by bucket
    most_empty_windows: int
    states: Mapping[str, QueryState]  # by query
    synopses: Path  # where pieces lie
    corrects: Mapping[Name, int]  # by how much late rows correct, by stream


@dataclass(frozen=True)
class AnswerContext:
    """For steps 5 and 6: the folders that tasks use, and the takers of the answers."""

    session: SparkAccess
    plan: SharedPlan
    paused: frozenset[str]
    folders: AnswerFolders
    buckets: Mapping[str, int]  # by synopsis
    snapshot_pieces: int  # of rows that wait, the most pieces of a query
    sinks: Mapping[str, SinkWriter]  # by query
    subscribers: Subscribers
    most_result_rows: int  # that a tick may make of a join of windows
    states: dict[str, QueryState]  # by query; a commit brings them up to date
    handovers: HandoverLedger

    def queries_of(self, stream: Stream) -> tuple[QueryPlan, ...]:
        """Those with a window."""
        return self.plan.queries_of(stream.key)


@dataclass(frozen=True)
class TickContext:
    """All of it, for the streams of one plan."""

    plan: SharedPlan
    settings: Settings
    paused: frozenset[str]
    advances: Callable[[], Mapping[Name, int]]  # by stream, what operators have promised by now
    home: Home
    journal: Journal
    clock: Clock
    # Committed states, by stream: every tick sees all of them, and brings its own up to date.
    streams: dict[Name, StreamState]
    pins: Pins
    fold: FoldContext
    decide: DecideContext
    answer: AnswerContext
    agendas: tuple[Agenda, ...]
    one_time: OneTimeAnswerer
    # What silent sources could promise, as they were looked at last, though nothing goes by it yet.
    offers: dict[Name, int] = field(default_factory=dict)
