"""Step 5 for row queries: the rows that leave with the tick, as their sinks take them."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidemill.answer.request import CARRY, COUNT, STAGE, Delivery, choose_delivery
from tidemill.catalog import Stream
from tidemill.connect.sinks import Batch
from tidemill.engine.tick.context import AnswerContext
from tidemill.engine.tick.journal import Decision
from tidemill.language.names import Name
from tidemill.state.pieces import Piece
from tidemill.state.row_pieces import HeldRows, RowFeed, read_leaving
from tidemill.state.store import Version


@dataclass(frozen=True)
class RowAnswer:
    """What a row query delivers in a tick, and the pieces of rows that it goes on holding."""

    feed: RowFeed
    batches: tuple[Batch, ...]
    pieces: tuple[Piece, ...] = ()

    @property
    def rows(self) -> int:
        return sum(int(batch.counts.sum()) for batch in self.batches)


class RowAnswerer:
    """Answers the row queries of a stream; one that is paused lets its rows go."""

    def __init__(self, context: AnswerContext, stream: Stream) -> None:
        self._context, self._feeds = context, context.plan.rows_of(stream.key)
        self._root = context.folders.synopses

    def answer(self, tick: int, decision: Decision, version: Version) -> list[RowAnswer]:
        answers = [self._answer(feed, tick, decision, version) for feed in self._feeds]
        if answers:
            self._context.folders.failpoint.reach("answer", tick)
        return answers

    def _answer(self, feed: RowFeed, tick: int, decision: Decision, version: Version) -> RowAnswer:
        is_paused = Name(feed.query.name) in self._context.paused
        if feed.query.ordered:
            return self._in_order(feed, tick, decision, version, is_paused)
        pieces = () if is_paused else decision.folded.pieces.get(feed.id, ())
        return RowAnswer(feed, tuple(self._at_once(feed, tick, pieces)))

    def _at_once(self, feed: RowFeed, tick: int, pieces: tuple[Piece, ...]) -> Iterator[Batch]:
        delivery = self._delivery(feed)
        if delivery is CARRY and pieces:
            yield _carried(feed, tick, read_leaving(self._root, feed, pieces))
            return
        for piece in pieces:
            path, counts = self._root / feed.id / piece.name, np.array([piece.rows])
            name = (
                stage_file(self._context.folders.staging, tick, path) if delivery is STAGE else ""
            )
            yield Batch(tick, (feed.query.name,), counts, staged=name)

    def _in_order(
        self, feed: RowFeed, tick: int, decision: Decision, version: Version, is_paused: bool
    ) -> RowAnswer:
        """Rows from before the watermark leave, the others wait."""
        pieces, watermark_us = version.of(feed.id), decision.time.watermark_us
        if watermark_us is None or not pieces:
            return RowAnswer(feed, (), pieces)
        standing = HeldRows(self._root, feed, pieces)
        rows = feed.schema.empty_table() if is_paused else standing.before(watermark_us)
        rest = standing.after(watermark_us)
        if len(rest) > self._context.snapshot_pieces:
            rest = HeldRows(self._root, feed, rest).as_one()
        return RowAnswer(feed, (self._ordered_batch(feed, tick, rows),) if len(rows) else (), rest)

    def _ordered_batch(self, feed: RowFeed, tick: int, rows: pa.Table) -> Batch:
        if self._delivery(feed) is COUNT:
            return Batch(tick, (feed.query.name,), np.array([len(rows)]))
        return _carried(feed, tick, rows)

    def _delivery(self, feed: RowFeed) -> Delivery:
        name, context = feed.query.name, self._context
        is_watched = name in context.subscribers
        return choose_delivery(context.sinks[name].delivery, is_watched, False)


def _carried(feed: RowFeed, tick: int, rows: pa.Table) -> Batch:
    return Batch(tick, (feed.query.name,), np.array([len(rows)]), rows)


def stage_file(folder: Path, tick: int, path: Path) -> str:
    """A staged file with what is in another one, which stays; returns its name in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{tick:08d}-{uuid.uuid4().hex}.parquet"
    try:
        os.link(path, folder / name)
    except OSError:  # a file system without links
        shutil.copyfile(path, folder / name)
    return name
