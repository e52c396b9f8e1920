"""Step 5 for row queries: the rows that leave with the tick, as their sinks take them."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tidemill.answer.request import CARRY, STAGE
from tidemill.catalog import Stream
from tidemill.connect.sinks import Batch
from tidemill.engine.rows.join_answers import JoinAnswerer
from tidemill.engine.rows.row_answer import RowAnswer, RowsForSink, batch_of, delivery_of
from tidemill.engine.tick.bases import Registers, Versions, register_of
from tidemill.engine.tick.context import AnswerContext
from tidemill.language.names import Name
from tidemill.plan.relation import source_name
from tidemill.scan.contract import FoldReport
from tidemill.state.pieces import Piece
from tidemill.state.row_pieces import HeldRows, RowFeed, leaving_before, read_leaving


class RowAnswerer:
    """Answers the row queries of a stream; one that is paused lets its rows go."""

    def __init__(self, context: AnswerContext, stream: Stream) -> None:
        self._context, plan = context, context.plan
        feeds = plan.rows_of(stream.key)
        self._at_once = [feed for feed in feeds if not feed.query.ordered]
        owners = dict.fromkeys(feed.query.owner for feed in feeds if feed.query.ordered)
        queries = [query for owner in owners if (query := plan.row_query(owner)) is not None]
        # Rows that leave by time wait for the other sources of their query, too.
        self._ordered = [plan.feeds_of(query.name) for query in queries if query.join is None]
        self._joins = [
            JoinAnswerer(context, query, query.join, plan.feeds_of(query.name))
            for query in queries
            if query.join is not None
        ]
        self._root = context.folders.synopses

    def answer(
        self,
        tick: int,
        folded: FoldReport,
        before: Registers,
        times: Registers,
        versions: Versions,
    ) -> list[RowAnswer]:
        """The registers are those before the tick and after it."""
        answers = [self._leaving(feed, tick, folded) for feed in self._at_once]
        answers += [self._in_order(feeds, tick, times, versions) for feeds in self._ordered]
        answers += [join.answer(tick, before, times, versions) for join in self._joins]
        if answers:
            self._context.folders.failpoint.reach("answer", tick)
        return answers

    def _leaving(self, feed: RowFeed, tick: int, folded: FoldReport) -> RowAnswer:
        is_paused = Name(feed.query.owner) in self._context.paused
        pieces = () if is_paused else folded.pieces.get(feed.id, ())
        batches = tuple(self._batches(feed, tick, pieces))
        return RowAnswer(feed.query.owner, batches, ((feed, ()),))

    def _batches(
        self, feed: RowFeed, tick: int, pieces: tuple[Piece, ...]
    ) -> Iterator[RowsForSink]:
        name = feed.query.owner
        delivery = delivery_of(self._context, name)
        if delivery is CARRY and pieces:
            rows = read_leaving(self._root, feed, pieces)
            yield RowsForSink(batch_of(self._context, name, tick, rows))
            return
        for piece in pieces:
            path, counts = self._root / feed.id / piece.name, np.array([piece.rows])
            staging = self._context.folders.staging
            staged = stage_file(staging, tick, path) if delivery is STAGE else ""
            yield RowsForSink(Batch(tick, (name,), counts, staged=staged))

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
        if not len(rows):
            return RowAnswer(name, (), rest)
        return RowAnswer(name, (RowsForSink(batch_of(self._context, name, tick, rows)),), rest)

    def _rest(self, held: HeldRows, watermark_us: int) -> tuple[Piece, ...]:
        rest = held.after(watermark_us)
        if len(rest) <= self._context.snapshot_pieces:
            return rest
        return HeldRows(self._root, held.feed, rest).as_one()


def stage_file(folder: Path, tick: int, path: Path) -> str:
    """A staged file with what is in another one, which stays; returns its name in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{tick:08d}-{uuid.uuid4().hex}.parquet"
    try:
        os.link(path, folder / name)
    except OSError:  # a file system without links
        shutil.copyfile(path, folder / name)
    return name
