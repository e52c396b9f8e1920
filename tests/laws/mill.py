"""The engine's ticks without Spark: partials by plain loops, all the rest in earnest.

The machine of the six steps is the engine's own, with its journal in memory. Only steps 1 to
3, rows to pieces, are done by other code; rows are admitted as the engine admits them.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, cast

import pyarrow as pa

from tests.laws.conditions import Truth
from tests.laws.lifting import partial_rows, passes
from tests.laws.queries import STREAM, Asked, truths_of
from tidemill.answer.request import CARRY, Delivery
from tidemill.answer.task import AnswerFolders
from tidemill.clock import ManualClock, Stopwatch
from tidemill.connect.handovers import HandoverLedger
from tidemill.connect.sinks.contract import Batch
from tidemill.connect.sources.spans import NumberSpan
from tidemill.engine.home import Home
from tidemill.engine.subscribers import Subscribers
from tidemill.engine.tick.context import AnswerContext, DecideContext
from tidemill.engine.tick.journal import Journal, QueryState, StreamState, TickRecord
from tidemill.engine.tick.machine import Answered, Begun, Stage, TickMachine
from tidemill.engine.tick.report import TickReport
from tidemill.failpoints import NOWHERE
from tidemill.plan.predicates import Predicate
from tidemill.reference.answers import AcceptedRow, ReferenceAnswer
from tidemill.scan.contract import (
    BREAKING,
    CORRECTED,
    COUNTED,
    LATE,
    FoldPlace,
    FoldReport,
)
from tidemill.settings import Settings
from tidemill.share import (
    Context,
    EngineCosts,
    Sample,
    SharedPlan,
    StreamPosition,
    arrange_feeds,
    change_plan,
    follow_rate,
    rebuild_plan,
    retire_stints,
)
from tidemill.share.weave import ARRAY_COSTS, MachineCosts
from tidemill.spark.jobs import Workplace, WorkSize, workplace_of
from tidemill.state.feed import Feed
from tidemill.state.fold import fold_feed
from tidemill.state.pieces import Piece, gather
from tidemill.state.store import Version
from tidemill.time import Promise, Register
from tidemill.time.promises import SOURCE
from tidemill.windows import BEGINNING_US


@dataclass
class Kept:
    """A sink that keeps answers, by query, once their tick is committed."""

    delivery: Delivery = CARRY
    answers: dict[str, list[ReferenceAnswer]] = field(default_factory=dict)
    pending: dict[str, list[ReferenceAnswer]] = field(default_factory=dict)

    def take_back(self) -> None:
        self.pending = {}

    def deliver(self, batch: Batch) -> None:
        for name, rows in batch.tables():
            self.pending.setdefault(name, []).extend(as_tuples(rows))

    def reach(self, _watermark_us: int | None) -> None:
        pass

    def record(self) -> None:
        pass

    def committed(self, _now_us: int) -> None:
        for name, rows in self.pending.items():
            self.answers.setdefault(name, []).extend(rows)
        self.pending = {}


@dataclass
class Mill:
    """A stream under way, its plan and its state."""

    folder: Path
    settings: Settings = field(default_factory=Settings)
    sample: Sample = field(default_factory=Sample)
    machine_costs: MachineCosts = ARRAY_COSTS
    buckets: int = 2
    lateness_us: int = 0
    correct_us: int = 0
    in_panes: bool = True
    plan: SharedPlan = field(default_factory=SharedPlan)
    truths: dict[Predicate, Truth] = field(default_factory=dict)
    paused: frozenset[str] = frozenset()
    rows: list[AcceptedRow] = field(default_factory=list)  # all that came, taken by span
    accepted: list[AcceptedRow] = field(default_factory=list)
    kept: Kept = field(default_factory=Kept)
    snapshots: int = 0

    def __post_init__(self) -> None:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        self.journal = Journal(connection)
        self._machine: TickMachine | None = None
        self._made_for: tuple[SharedPlan, frozenset[str]] = self.plan, self.paused

    @property
    def state(self) -> StreamState:
        return self.journal.load(STREAM.name)

    @property
    def time(self) -> Register:
        return self.state.time

    @property
    def version(self) -> Version:
        return self.state.version

    def around(self, _stream: str) -> tuple[StreamPosition, Context]:
        """The stream's position and the planner's figures."""
        return self._around(self.plan)

    def _around(self, plan: SharedPlan) -> tuple[StreamPosition, Context]:
        time, version = self.time, self.version
        position = StreamPosition(time.newest_us, time.watermark_us, version.complete_from)
        return position, Context(self.settings, self._costs(plan))

    @property
    def costs(self) -> EngineCosts:
        return self._costs(self.plan)

    def _costs(self, plan: SharedPlan) -> EngineCosts:
        rate = plan.rate_of(STREAM.key) or self.sample.rows_per_second
        return EngineCosts(replace(self.sample, rows_per_second=rate), self.machine_costs)

    def change(self, asked: Sequence[Asked]) -> None:
        """Other queries from the next tick on."""
        self.truths.update(truths_of(asked))
        self.plan = change_plan(self.plan, [query.plan for query in asked], self.around)

    def rebuild(self) -> None:
        if self.plan.queries:
            self.plan = rebuild_plan(self.plan, STREAM.key, self.around)

    def follow(self, rows_per_second: float) -> None:
        """The plan for another rate."""
        self.plan = follow_rate(
            self.plan, STREAM.key, rows_per_second, lambda plan: lambda _: self._around(plan)
        )

    def retire(self) -> None:
        if (watermark_us := self.time.watermark_us) is not None:
            final_us, plan = watermark_us - self.correct_us, self.plan
            self.plan = retire_stints(
                plan, STREAM.key, lambda part: final_us - plan.query(part.owner).before_us
            )

    @property
    def feeds(self) -> tuple[Feed, ...]:
        return arrange_feeds(self.plan.synopses, self.settings, self.costs)

    def tick(
        self, rows: Sequence[AcceptedRow], flush: bool = False, promised_us: int | None = None
    ) -> TickReport:
        """One tick over these rows, step by step."""
        return self.run(self.begin(rows, flush, promised_us))

    def begin(
        self, rows: Sequence[AcceptedRow], flush: bool = False, promised_us: int | None = None
    ) -> Begun:
        first, since_us = len(self.rows), self.time.watermark_us
        self.rows += rows
        self.accepted += [
            row for row in rows if since_us is None or row.time_us >= since_us - self.correct_us
        ]
        portion = NumberSpan(first, len(self.rows)) if rows else None
        promised = None if promised_us is None else Promise(promised_us, SOURCE)
        return self.machine().begin(portion, flush, promised=promised)

    def run(self, stage: Stage) -> TickReport:
        """All steps that are left."""
        machine, after = self.machine(), cast("Stage | TickReport", stage)
        while not isinstance(after, TickReport):
            after = machine.advance(after)
            self.snapshots += len(after.tick.snapshots) if isinstance(after, Answered) else 0
        return after

    def machine(self) -> TickMachine:
        """The machine of the plan and the pauses of now."""
        if self._machine is None or self._made_for != (self.plan, self.paused):
            self._machine, self._made_for = self._new_machine(), (self.plan, self.paused)
        return self._machine

    def restarted(self) -> TickMachine:
        """The machine of a new process, which knows no more than the journal and the folder."""
        self._machine = None
        return self.machine()

    def _new_machine(self) -> TickMachine:
        self.kept.take_back()
        buckets = {synopsis.id: self.buckets for synopsis in self.plan.synopses}
        home, memory = Home(self.folder), sqlite3.connect(":memory:", isolation_level=None)
        stored = self.journal.load_queries()
        states = {q.name: stored.get(q.name, QueryState()) for q in self.plan.queries}
        return TickMachine(
            stream=replace(STREAM, lateness_us=self.lateness_us, correct_us=self.correct_us),
            streams={STREAM.key: self.state},
            folder=PlainFolder(
                self.rows,
                self.feeds,
                self.truths,
                self.in_panes,
                self.correct_us,
                FoldPlace(home.synopses, buckets, 0, NOWHERE),
            ),
            decide=DecideContext(
                self.plan,
                self.paused,
                buckets,
                self.settings.snapshot_pieces,
                self.settings.most_empty_windows,
                states,
                home.synopses,
                {STREAM.key: self.correct_us},
            ),
            answer=AnswerContext(
                session=NoSpark(),
                plan=self.plan,
                paused=self.paused,
                folders=AnswerFolders(home.synopses, home.staging, NOWHERE),
                buckets=buckets,
                most_result_rows=100_000_000,
                snapshot_pieces=self.settings.snapshot_pieces,
                sinks={query.name: cast(Any, self.kept) for query in self.plan.queries},
                subscribers=Subscribers(),
                states=states,
                handovers=HandoverLedger(memory, home.handovers),
            ),
            journal=self.journal,
            clock=ManualClock(),
            remove=remove_files,
        )


@dataclass(frozen=True)
class PlainFolder:
    """Steps 1 to 3 by plain loops over rows in memory."""

    rows: Sequence[AcceptedRow]
    feeds: tuple[Feed, ...]
    truths: dict[Predicate, Truth]
    in_panes: bool
    correct_us: int
    place: FoldPlace

    def fold(self, record: TickRecord, _watch: Stopwatch) -> tuple[TickRecord, FoldReport]:
        watermark_us = record.time.watermark_us
        bound_us = BEGINNING_US if watermark_us is None else watermark_us
        since_us = bound_us - self.correct_us
        span = record.portion or {"low": 0, "high": 0}
        rows = self.rows[span["low"] : span["high"]]
        accepted = [row for row in rows if row.time_us >= since_us]
        return record, FoldReport(
            pieces=self._pieces(accepted, since_us),
            rows=self._verdicts(record, rows, bound_us),
            oldest_us=min((row.time_us for row in accepted), default=None),
            newest_us=max((row.time_us for row in accepted), default=None),
        )

    def _verdicts(
        self, record: TickRecord, rows: Sequence[AcceptedRow], bound_us: int
    ) -> dict[int, int]:
        before_us = record.time.broken_before_us
        verdicts = Counter[int]()
        for row in rows:
            verdict = LATE if row.time_us < bound_us - self.correct_us else CORRECTED
            verdict = COUNTED if row.time_us >= bound_us else verdict
            is_broken = before_us is not None and row.time_us < before_us
            verdicts[BREAKING[verdict] if is_broken else verdict] += 1
        return dict(verdicts)

    def _pieces(self, rows: Sequence[AcceptedRow], since_us: int) -> dict[str, tuple[Piece, ...]]:
        pieces: dict[str, tuple[Piece, ...]] = {}
        for one_pass in passes(self.feeds) if rows else ():
            for feed in one_pass:
                table = partial_rows(one_pass, feed, rows, self.truths, since_us, self.in_panes)
                if len(table):
                    pieces |= self.place.write(fold_feed(feed, gather(feed, table)))
        return pieces


class NoSpark:
    """Whatever a mill does is small."""

    def __call__(self, reason: str = "") -> Any:
        raise AssertionError("a mill has no Spark")

    def workplace_of(self, work: WorkSize) -> Workplace:
        return workplace_of(work)


def interrupted_tick(
    mill: Mill, rows: Sequence[AcceptedRow], rng: Random, seen: Counter[str], flush: bool = False
) -> None:
    """A tick, often cut off after some of its steps and resumed by another process."""
    stage: Stage = mill.begin(rows, flush)
    if (steps := rng.randrange(8)) > 3:
        mill.run(stage)
        return
    for _ in range(steps):
        after = mill.machine().advance(stage)
        assert not isinstance(after, TickReport)
        stage = after
        seen[type(stage).__name__] += 1
    resumed = mill.restarted().resume()
    assert resumed is not None
    mill.run(resumed)
    seen["restarted"] += 1


def remove_files(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def as_tuples(rows: pa.Table) -> list[ReferenceAnswer]:
    bounds = [rows.column(place).cast(pa.int64()).to_pylist() for place in (0, 1)]
    others = [
        (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        for column in rows.columns[2:]
    ]
    return [
        (start, end, tuple(values)) for start, end, *values in zip(*bounds, *others, strict=True)
    ]
