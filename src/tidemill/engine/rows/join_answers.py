"""Step 5 for joins of windows without a slide: the results that come with the tick, or go.

All rows before the least of the sources' watermarks are final. So a tick that takes it from one
instant to another has the results of the span between the two. Rows are held until their window
has passed the watermark; results follow from them alone, so a tick that is run again has the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.arrays import BoolArray
from tidemill.engine.rows.row_answer import RowAnswer, RowsForSink, batch_of
from tidemill.engine.tick.bases import Registers, Versions, register_of
from tidemill.engine.tick.context import AnswerContext
from tidemill.errors import Problem
from tidemill.evaluation.finish import Finished, evaluate
from tidemill.language.names import Name
from tidemill.operators.results import JoinBatch, batches_of
from tidemill.operators.window_join import HeldSide, WindowJoinSpan
from tidemill.plan.expressions import Node, Slot, walk
from tidemill.plan.relation import source_name
from tidemill.plan.row_join import RowJoin
from tidemill.plan.row_query import RowQuery
from tidemill.state.keyed_pieces import KeyedPieces
from tidemill.state.pieces import Piece
from tidemill.state.row_pieces import RowFeed, row_schema
from tidemill.types import TIMESTAMP
from tidemill.windows import BEGINNING_US


class JoinAnswerer:
    """Answers one such query; while it is paused, what comes and goes is told to nobody."""

    def __init__(
        self, context: AnswerContext, query: RowQuery, join: RowJoin, feeds: Sequence[RowFeed]
    ) -> None:
        self._context, self._query, self._join = context, query, join
        self._feeds = tuple(feeds)  # of its parts
        self._sources = [source_name(feed.query.relation) for feed in feeds]
        self._root = context.folders.synopses

    def answer(
        self, tick: int, before: Registers, after: Registers, versions: Versions
    ) -> RowAnswer:
        stores = [
            KeyedPieces(self._root / feed.id, len(self._join.key), versions[source].of(feed.id))
            for feed, source in zip(self._feeds, self._sources, strict=True)
        ]
        since_us = register_of(self._sources, before).watermark_us
        until_us = register_of(self._sources, after).watermark_us
        if until_us is None:
            entries = zip(self._feeds, (pieces.pieces for pieces in stores), strict=True)
            return RowAnswer(self._query.name, (), tuple(entries))
        rest = tuple(self._rest(n, pieces, until_us) for n, pieces in enumerate(stores))
        if Name(self._query.name) in self._context.paused:
            return RowAnswer(self._query.name, (), rest)
        span = self._span(stores, BEGINNING_US if since_us is None else since_us, until_us)
        if reason := self._excess(span):
            return RowAnswer(self._query.name, (), rest, stop=reason)
        return RowAnswer(self._query.name, self._batches(tick, span), rest)

    def _rest(
        self, part: int, pieces: KeyedPieces, until_us: int
    ) -> tuple[RowFeed, tuple[Piece, ...]]:
        """Rows of use are those that one of the next instant may meet."""
        live_us, most = until_us + 1 - self._join.range_us(part), self._context.snapshot_pieces
        waiting_us = until_us + 1 - self._query.leaves_us(part)
        return self._feeds[part], pieces.rest(live_us, waiting_us, most)

    def _span(self, stores: Sequence[KeyedPieces], since_us: int, until_us: int) -> WindowJoinSpan:
        """What comes from the one watermark on and before the other; what goes by the other."""
        sides = tuple(
            HeldSide(
                side.range_us, tuple(rows for part in side.parts for rows in stores[part].rows)
            )
            for side in self._join.sides
        )
        goes = self._join.goes
        return WindowJoinSpan(sides, since_us + goes, until_us + goes, goes)

    def _excess(self, span: WindowJoinSpan) -> str:
        """Why the query stops, if it would make more results than it may."""
        most = self._context.most_result_rows
        results = span.results
        if results <= most:
            return ""
        key, count = span.heaviest()
        names = ", ".join(map(str, key.to_pylist()[0].values()))
        name = self._query.name
        problem = Problem(
            "E_RESULT_ROWS",
            f"query {name} is stopped: a tick would make {_number(results)} of its rows, "
            f"{_number(count)} of them with the key {names}",
            detail=f"most_result_rows allows {most:,}",
            hint="aggregate: with GROUP BY and a SLIDE no row of the join is made; or SET "
            f"most_result_rows to more, and RESUME QUERY {name}",
        )
        return problem.render()

    def _batches(self, tick: int, span: WindowJoinSpan) -> Iterator[RowsForSink]:
        for block in span.blocks():
            for batch in batches_of(block):
                results = _Results.of(self._query, self._join, batch)
                if len(results.rows):
                    leaving = batch_of(self._context, self._query.name, tick, results.rows)
                    yield RowsForSink(leaving, results.raised)


def _number(count: int) -> str:
    return f"{count:,}" if count < 2**62 else "more than 2^62"


@dataclass(frozen=True)
class _Results:
    """The rows of a batch as they leave, and how many values raised."""

    rows: pa.Table
    raised: int

    @staticmethod
    def of(query: RowQuery, join: RowJoin, batch: JoinBatch) -> _Results:
        raised = 0
        for node in join.conditions:
            value = _evaluated(node, join, batch)
            raised += int(np.count_nonzero(value.raised))
            batch = batch.only(_true(value.values))
        other_us = batch.begins_us if join.goes else batch.ends_us
        columns = [_times(batch.instants_us), _times(other_us)]
        for output in join.outputs:
            value = _evaluated(output.node, join, batch)
            raised += int(np.count_nonzero(value.raised))
            columns.append(value.values)
        return _Results(pa.table(columns, schema=row_schema(query)), raised)


def _evaluated(node: Node, join: RowJoin, batch: JoinBatch) -> Finished:
    columns = {
        slot.slot.name: batch.column(slot.side, slot.column)
        for slot in join.slots
        if slot.slot in set(_slots(node))
    }
    if isinstance(node, Slot):
        return Finished(columns[node.name], np.zeros(1, np.bool_))
    return evaluate(node, columns, len(batch))


def _slots(node: Node) -> Iterator[Slot]:
    return (part for part in walk(node) if isinstance(part, Slot))


def _true(values: pa.Array) -> BoolArray:
    truths: BoolArray = values.fill_null(False).to_numpy(zero_copy_only=False)
    return truths


def _times(times_us: np.ndarray) -> pa.Array:
    return pa.array(times_us).view(TIMESTAMP.arrow)
