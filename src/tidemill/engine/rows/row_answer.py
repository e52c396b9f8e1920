"""What a query of rows delivers in a tick, and the ways in which rows are delivered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.answer.request import COUNT, Delivery, choose_delivery
from tidemill.connect.sinks import Batch
from tidemill.engine.tick.context import AnswerContext
from tidemill.state.pieces import Piece
from tidemill.state.row_pieces import RowFeed


@dataclass(frozen=True)
class RowsForSink:
    """Rows as a sink takes them, and how many values raised in them."""

    batch: Batch
    raised: int = 0

    @property
    def rows(self) -> int:
        return int(self.batch.counts.sum())


@dataclass(frozen=True)
class RowAnswer:
    """What a row query delivers in a tick, and the pieces of rows that it goes on holding.

    Batches may be made as they are delivered, so that they need not all be there at once. A
    query that is to `stop` delivers nothing; the text says why.
    """

    query: str
    batches: Iterable[RowsForSink]
    rest: tuple[tuple[RowFeed, tuple[Piece, ...]], ...] = ()
    stop: str = ""


def delivery_of(context: AnswerContext, name: str) -> Delivery:
    """How the rows of a query leave."""
    return choose_delivery(context.sinks[name].delivery, name in context.subscribers, False)


def batch_of(context: AnswerContext, name: str, tick: int, rows: pa.Table) -> Batch:
    """Rows that are here, and are only counted where nobody takes them."""
    counts = np.array([len(rows)])
    if delivery_of(context, name) is COUNT:
        return Batch(tick, (name,), counts)
    return Batch(tick, (name,), counts, rows)
