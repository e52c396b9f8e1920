"""A SELECT by itself: answered once, now, over the windows that a synopsis has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.aggregates.user import give_back
from tidemill.answer.request import CARRY, QueryBatch, WindowRequest
from tidemill.answer.rows import answer_schema
from tidemill.answer.shapes import lift
from tidemill.answer.task import AnswerFolders, AnswerTask, answer_tasks
from tidemill.arrays import IntArray
from tidemill.catalog import Catalog
from tidemill.engine.home import Home
from tidemill.engine.tick.journal import StreamState
from tidemill.errors import refuse
from tidemill.explain.replies import Selection
from tidemill.failpoints import NOWHERE
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
from tidemill.schedule import Due, Specs, due_windows
from tidemill.share import SharedPlan, StreamPosition, specs_of
from tidemill.share.serves import Serving, find_servings, refuse_too_long
from tidemill.spark.finishing import finish_rows
from tidemill.spark.jobs import SparkAccess, run_answers


@dataclass(frozen=True)
class OneTimeAnswerer:
    session: SparkAccess
    home: Home

    def answer(self, query: QueryPlan, plan: SharedPlan, state: StreamState) -> Selection:
        """The answer; refused if no synopsis has it."""
        serving, due = windows_held(query, plan, state)
        if not due:
            return Selection(answer_schema(query).empty_table())
        request = _request(query, serving, due)
        folders = AnswerFolders(self.home.synopses, self.home.staging, NOWHERE)
        pieces = state.version.of(serving.synopsis.id)
        tasks = answer_tasks(folders, 0, serving.synopsis, pieces, [request], keys=serving.keys)
        return self._answered(query, request.batch, tasks)

    def _answered(self, query: QueryPlan, batch: QueryBatch, tasks: list[AnswerTask]) -> Selection:
        results = run_answers(self.session, tasks)
        for result in results:
            # Of what users' code raises in this process, what ticks have met with is theirs.
            give_back(result.user_errors)
        buckets = [result.answers[0] for result in results]
        tables = [bucket.rows for bucket in buckets if bucket.rows is not None]
        merged = finish_rows(self.session, query, batch, tables)
        raised = int(sum(bucket.raised.sum() for bucket in buckets) + merged.raised.sum())
        return Selection(_by_window(merged.rows), raised)


def refuse_changed(query: QueryPlan, standing: Catalog, catalog: Catalog) -> None:
    """Refuse a SELECT over a stream or table that its script declares anew: nothing is held."""
    sources = [("stream", source.name.written) for source in query.relation.sources]
    tables = [("table", join.table) for join in query.relation.joins]
    for kind, name in (*sources, *tables):
        if standing.definition(kind, name) != catalog.definition(kind, name):
            refuse(
                "E_NOT_HELD",
                f"nothing is held of {kind} {name} as this script declares it",
                hint="a SELECT is answered from what standing queries have kept before it",
            )


def windows_held(
    query: QueryPlan, plan: SharedPlan, state: StreamState
) -> tuple[Serving, tuple[Due, ...]]:
    """The windows with rows that have closed and are held in whole.

    With a soft period it is the newest, as a standing query would be answered.
    """
    time = state.time
    position = StreamPosition(time.newest_us, time.watermark_us, state.version.complete_from)
    servings = find_servings(plan, query, position)
    until_us = time.reach_us(query.window.update_us) if query.is_soft else time.watermark_us
    if until_us is None:
        stream = source_name(query.relation).written
        refuse("E_NOT_HELD", f"stream {stream} has had no rows yet", hint="ask again later")
    serving = _best(servings, query, until_us)
    if serving.too_long(query, until_us):
        refuse_too_long(serving, query, until_us)
    slices = state.version.slices(serving.synopsis.id)
    return serving, tuple(_due(query, serving, slices, until_us))


def _best(servings: list[Serving], query: QueryPlan, until_us: int) -> Serving:
    """For the newest window the first that has it, for all windows the one with most of them."""
    if query.window.is_soft:
        return min(servings, key=lambda serving: bool(serving.too_long(query, until_us)))
    return min(servings, key=lambda serving: serving.since_us)


def _due(query: QueryPlan, serving: Serving, slices: IntArray, until_us: int) -> Iterator[Due]:
    for spec in specs_of(query):
        after_us = serving.since_us + spec.range_us - 1
        if query.window.is_soft:
            after_us = max(after_us, until_us - spec.slide_us)
        for first_us, windows in due_windows(Specs.of([spec]), slices, after_us, until_us)[0]:
            lengths = spec.range_us, spec.slide_us
            yield Due((query.name,), serving.synopsis.id, *lengths, first_us, windows)


def _request(query: QueryPlan, serving: Serving, due: tuple[Due, ...]) -> WindowRequest:
    batch = QueryBatch.of([lift(query)], [serving.reading], is_named=True, delivery=CARRY)
    return WindowRequest.of(batch, [0] * len(due), due)


def _by_window(rows: pa.Table) -> pa.Table:
    """Buckets have been one after the other; an order within windows stays."""
    start, end, *_ = rows.columns
    return rows.take(np.lexsort((end.cast("int64").to_numpy(), start.cast("int64").to_numpy())))
