"""Step 5 for row queries: the rows that leave with the tick, as their sinks take them."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidemill.answer.request import CARRY, COUNT, STAGE, Delivery, choose_delivery
from tidemill.catalog import Stream
from tidemill.connect.sinks import Batch
from tidemill.engine.tick.bases import Registers, Versions, register_of
from tidemill.engine.tick.context import AnswerContext
from tidemill.language.names import Name
from tidemill.plan.relation import source_name
from tidemill.scan.contract import FoldReport
from tidemill.state.pieces import Piece
from tidemill.state.row_pieces import HeldRows, RowFeed, leaving_before, read_leaving


@dataclass(frozen=True)
class RowAnswer:
    """What a row query delivers in a tick, and the pieces of rows that it goes on holding."""

    query: str
    batches: tuple[Batch, ...]
    rest: tuple[tuple[RowFeed, tuple[Piece, ...]], ...] = ()

    @property
    def rows(self) -> int:
        return sum(int(batch.counts.sum()) for batch in self.batches)


class RowAnswerer:
    """Answers the row queries of a stream; one that is paused lets its rows go."""

    def __init__(self, context: AnswerContext, stream: Stream) -> None:
        self._context, plan = context, context.plan
        feeds = plan.rows_of(stream.key)
        self._at_once = [feed for feed in feeds if not feed.query.ordered]
        owners = dict.fromkeys(feed.query.owner for feed in feeds if feed.query.ordered)
        # Rows that leave by time wait for the other sources of their query, too.
        self._ordered = [plan.feeds_of(owner) for owner in owners]
        self._root = context.folders.synopses

    def answer(
        self, tick: int, folded: FoldReport, times: Registers, versions: Versions
    ) -> list[RowAnswer]:
        answers = [self._leaving(feed, tick, folded) for feed in self._at_once]
        answers += [self._in_order(feeds, tick, times, versions) for feeds in self._ordered]
        if answers:
            self._context.folders.failpoint.reach("answer", tick)
        return answers

    def _leaving(self, feed: RowFeed, tick: int, folded: FoldReport) -> RowAnswer:
        is_paused = Name(feed.query.owner) in self._context.paused
        pieces = () if is_paused else folded.pieces.get(feed.id, ())
        batches = tuple(self._batches(feed, tick, pieces))
        return RowAnswer(feed.query.owner, batches, ((feed, ()),))

    def _batches(self, feed: RowFeed, tick: int, pieces: tuple[Piece, ...]) -> Iterator[Batch]:
        name, delivery = feed.query.owner, self._delivery(feed)
        if delivery is CARRY and pieces:
            yield _carried(name, tick, read_leaving(self._root, feed, pieces))
            return
        for piece in pieces:
            path, counts = self._root / feed.id / piece.name, np.array([piece.rows])
            staging = self._context.folders.staging
            staged = stage_file(staging, tick, path) if delivery is STAGE else ""
            yield Batch(tick, (name,), counts, staged=staged)

    def _in_order(
        self, feeds: Sequence[RowFeed], tick: int, times: Registers, versions: Versions
    ) -> RowAnswer:
        """Rows from before the watermark leave, the others wait.

        The feeds are those of one query, a source each; rows of one time leave in their order.
        """
        name, sources = feeds[0].query.owner, [source_name(feed.query.relation) for feed in feeds]
        standing = [
            HeldRows(self._root, feed, versions[source].of(feed.id))
            for feed, source in zip(feeds, sources, strict=True)
        ]
        watermark_us = register_of(sources, times).watermark_us
        if watermark_us is None or not any(held.pieces for held in standing):
            return RowAnswer(name, (), tuple((held.feed, held.pieces) for held in standing))
        rest = tuple((held.feed, self._rest(held, watermark_us)) for held in standing)
        is_paused = Name(name) in self._context.paused
        rows = feeds[0].schema.empty_table()
        if not is_paused:
            rows = leaving_before(standing, watermark_us)
        batches = (self._ordered_batch(feeds[0], tick, rows),) if len(rows) else ()
        return RowAnswer(name, batches, rest)

    def _rest(self, held: HeldRows, watermark_us: int) -> tuple[Piece, ...]:
        rest = held.after(watermark_us)
        if len(rest) <= self._context.snapshot_pieces:
            return rest
        return HeldRows(self._root, held.feed, rest).as_one()

    def _ordered_batch(self, feed: RowFeed, tick: int, rows: pa.Table) -> Batch:
        if self._delivery(feed) is COUNT:
            return Batch(tick, (feed.query.owner,), np.array([len(rows)]))
        return _carried(feed.query.owner, tick, rows)

    def _delivery(self, feed: RowFeed) -> Delivery:
        name, context = feed.query.owner, self._context
        is_watched = name in context.subscribers
        return choose_delivery(context.sinks[name].delivery, is_watched, False)


def _carried(query: str, tick: int, rows: pa.Table) -> Batch:
    return Batch(tick, (query,), np.array([len(rows)]), rows)


def stage_file(folder: Path, tick: int, path: Path) -> str:
    """A staged file with what is in another one, which stays; returns its name in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{tick:08d}-{uuid.uuid4().hex}.parquet"
    try:
        os.link(path, folder / name)
    except OSError:  # a file system without links
        shutil.copyfile(path, folder / name)
    return name
