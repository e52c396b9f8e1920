"""The engine's ticks without Spark: partials by plain loops, all the rest in earnest.

Plans, feeds, fold, pieces, snapshots, expiry, decisions, answers and delivery are the
engine's own; rows are admitted as it admits them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from tests.laws.conditions import Truth
from tests.laws.lifting import partial_rows, passes
from tests.laws.queries import STREAM, Asked, truths_of
from tidemill.answer.delivery import CARRY, Delivery
from tidemill.answer.task import TaskResult
from tidemill.catalog import Stream
from tidemill.connect.sinks.base import Batch
from tidemill.engine.home import Home
from tidemill.engine.tick.answer import Answerer
from tidemill.engine.tick.context import Surroundings
from tidemill.engine.tick.decide import Deciding
from tidemill.engine.tick.deliver import Deliverer
from tidemill.engine.tick.record import TickRecord
from tidemill.failpoints import NOWHERE
from tidemill.plan.predicates import Predicate
from tidemill.reference.answers import Answer, Row
from tidemill.scan.contract import FoldPlace, FoldReport
from tidemill.settings import Settings
from tidemill.share import (
    Context,
    EngineCosts,
    Sample,
    SharedPlan,
    StreamPosition,
    arrange_feeds,
    change_plan,
    rebuild_plan,
    retire_stints,
)
from tidemill.share.weave import ARRAYS, MachineCosts
from tidemill.spark.sources import Input
from tidemill.state.feed import Feed
from tidemill.state.fold import fold_feed
from tidemill.state.partial_rows import gather
from tidemill.state.store import Version
from tidemill.time import StreamTime
from tidemill.windows import BEGINNING_US


@dataclass
class Kept:
    """A sink that keeps answers, by query."""

    delivery: Delivery = CARRY
    answers: dict[str, list[Answer]] = field(default_factory=dict)

    def deliver(self, batch: Batch) -> None:
        for name, rows in batch.tables():
            self.answers.setdefault(name, []).extend(as_tuples(rows))


@dataclass
class Mill:
    """A stream under way, its plan and its state."""

    folder: Path
    settings: Settings = field(default_factory=Settings)
    sample: Sample = field(default_factory=Sample)
    machine: MachineCosts = ARRAYS
    buckets: int = 2
    lateness_us: int = 0
    in_panes: bool = True
    plan: SharedPlan = field(default_factory=SharedPlan)
    time: StreamTime = field(default_factory=StreamTime)
    version: Version = field(default_factory=Version)
    truths: dict[Predicate, Truth] = field(default_factory=dict)
    paused: frozenset[str] = frozenset()
    accepted: list[Row] = field(default_factory=list)
    kept: Kept = field(default_factory=Kept)
    ticks: int = 0
    snapshots: int = 0

    def around(self, _stream: str) -> tuple[StreamPosition, Context]:
        """How the stream stands, as the planner would say."""
        time = self.time
        standing = StreamPosition(time.newest_us, time.watermark_us, self.version.complete_from)
        return standing, Context(self.settings, self.costs)

    @property
    def costs(self) -> EngineCosts:
        return EngineCosts(self.sample, self.machine)

    def change(self, asked: Sequence[Asked]) -> None:
        """Other queries from the next tick on."""
        self.truths.update(truths_of(asked))
        self.plan = change_plan(self.plan, [one.plan for one in asked], self.around)

    def rebuild(self) -> None:
        if self.plan.queries:
            self.plan = rebuild_plan(self.plan, STREAM.key, self.around)

    def retire(self) -> None:
        if self.time.watermark_us is not None:
            self.plan = retire_stints(self.plan, STREAM.key, self.time.watermark_us)

    @property
    def feeds(self) -> tuple[Feed, ...]:
        return arrange_feeds(self.plan.synopses, self.settings, self.costs)

    def tick(self, rows: Sequence[Row], flush: bool = False) -> None:
        self.ticks += 1
        around, since_us = self._surroundings(), self.time.watermark_us
        mine = [row for row in rows if since_us is None or row.time_us >= since_us]
        self.accepted += mine
        record = TickRecord("s", self.ticks, self.plan.version, 0, self.time, Input(), flush=flush)
        folded = self._fold(mine, BEGINNING_US if since_us is None else since_us)
        version = self.version
        for key, pieces in folded.pieces.items():
            version = version.added(key, pieces)
        deciding = Deciding(around, self._stream)
        decision = deciding.decide(record, folded, version)
        snapshots = deciding.snapshots(decision, version)
        answerer = Answerer(around, self._stream)
        results = answerer.answer(self.ticks, decision.due, version, snapshots)
        Deliverer(around, self._stream).deliver(self.ticks, folded, results)
        horizons = {key: deciding.horizon(key, decision) for key in self._buckets}
        self.version = self._after(version, snapshots, horizons, results)
        self.time = decision.time

    @property
    def _stream(self) -> Stream:
        return replace(STREAM, lateness_us=self.lateness_us)

    def _fold(self, rows: Sequence[Row], since_us: int) -> FoldReport:
        pieces: dict[str, tuple[Any, ...]] = {}
        place = FoldPlace(self._home.synopses, self._buckets, 0, NOWHERE)
        for one_pass in passes(self.feeds) if rows else ():
            for feed in one_pass:
                table = partial_rows(one_pass, feed, rows, self.truths, since_us, self.in_panes)
                if len(table):
                    pieces |= place.write(fold_feed(feed, gather(feed, table)))
        return FoldReport(pieces=pieces, newest_us=max((r.time_us for r in rows), default=None))

    def _after(
        self,
        version: Version,
        snapshots: Mapping[str, int],
        horizons: Mapping[str, int],
        results: list[TaskResult],
    ) -> Version:
        """As the engine keeps it: snapshots in place of pieces, nothing past its use."""
        kept = version
        for key, horizon_us in horizons.items():
            if key in snapshots:
                mine = [r.snapshot for r in results if r.synopsis_id == key and r.snapshot]
                kept = kept.replaced(key, mine)
                self.snapshots += 1
            kept = kept.expired(key, horizon_us)
        return kept.only(horizons)

    @property
    def _buckets(self) -> dict[str, int]:
        return {synopsis.id: self.buckets for synopsis in self.plan.synopses}

    @property
    def _home(self) -> Home:
        return Home(self.folder)

    def _surroundings(self) -> Surroundings:
        nothing = cast(Any, None)
        return Surroundings(
            session=nothing,
            home=self._home,
            journal=nothing,
            clock=nothing,
            settings=self.settings,
            plan=self.plan,
            feeds={STREAM.key: self.feeds},
            paused=self.paused,
            sinks={query.name: cast(Any, self.kept) for query in self.plan.queries},
            queries={},
            tables=nothing,
            subscribers={},
            buckets=self._buckets,
            costs={STREAM.key: self.costs},
            failpoint=NOWHERE,
            selects=nothing,
            selecting=nothing,
        )


def as_tuples(rows: pa.Table) -> list[Answer]:
    bounds = [rows.column(place).cast(pa.int64()).to_pylist() for place in (0, 1)]
    others = [column.to_pylist() for column in rows.columns[2:]]
    return [
        (start, end, tuple(values)) for start, end, *values in zip(*bounds, *others, strict=True)
    ]
