"""A SELECT by itself: answered once, now, over the windows that are held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.aggregates.user import give_back
from tidemill.answer.delivery import CARRY
from tidemill.answer.request import QueryBatch, WindowRequest
from tidemill.answer.shapes import lift
from tidemill.answer.task import AnswerFolders, AnswerTask, tasks_of
from tidemill.arrays import IntArray
from tidemill.catalog import Catalog
from tidemill.connect.sinks.cells import cell_texts
from tidemill.engine.home import Home
from tidemill.engine.tick.journal import StreamState
from tidemill.errors import refuse
from tidemill.failpoints import NOWHERE
from tidemill.plan.query import QueryPlan
from tidemill.schedule import Due, Specs, due_windows
from tidemill.share import SharedPlan, Standing, specs_of
from tidemill.share.held import Held, find_held, refuse_too_long
from tidemill.spark.answer import run_answers
from tidemill.spark.finishing import finish_rows
from tidemill.spark.session import Session
from tidemill.words import many, table

NO_ROWS = "no rows"


@dataclass(frozen=True)
class Selecting:
    session: Callable[[], Session]
    home: Home

    def run(self, query: QueryPlan, plan: SharedPlan, state: StreamState) -> str:
        """The answer as a table for people; refused if it is not held."""
        held, due = windows_held(query, plan, state)
        if not due:
            return NO_ROWS
        request = _request(query, held, due)
        folders = AnswerFolders(self.home.synopses, self.home.staging, NOWHERE)
        pieces = state.version.of(held.synopsis.id)
        tasks = tasks_of(folders, 0, held.synopsis, pieces, [request], keys=held.keys)
        return self._answered(query, request.batch, tasks)

    def _answered(self, query: QueryPlan, batch: QueryBatch, tasks: list[AnswerTask]) -> str:
        results = run_answers(self.session, tasks)
        for result in results:
            # Of what users' code raises in this process, what ticks have met with is theirs.
            give_back(result.user_errors)
        buckets = [result.answers[0] for result in results]
        tables = [bucket.rows for bucket in buckets if bucket.rows is not None]
        merged = finish_rows(self.session, query, batch, tables)
        raised = int(sum(bucket.raised.sum() for bucket in buckets) + merged.raised.sum())
        notes = [f"{many(raised, 'value')} raised an error and are NULL"] if raised else []
        return "\n".join([_shown(merged.rows), *notes])


def refuse_changed(query: QueryPlan, standing: Catalog, catalog: Catalog) -> None:
    """What a script declares anew is not what queries have read so far."""
    names = [("stream", query.stream), *(("table", join.table) for join in query.joins)]
    for kind, name in names:
        key = kind, name.lower()
        if standing.definitions.get(key) != catalog.definitions[key]:
            refuse(
                "E_NOT_HELD",
                f"nothing is held of {kind} {name} as this script declares it",
                hint="a SELECT is answered from what standing queries have kept before it",
            )


def windows_held(
    query: QueryPlan, plan: SharedPlan, state: StreamState
) -> tuple[Held, tuple[Due, ...]]:
    """The windows with rows that have closed and are held in whole.

    With a soft period it is the newest, as a standing query would be answered.
    """
    time = state.time
    standing = Standing(time.newest_us, time.watermark_us, state.version.complete_from)
    found = find_held(plan, query, standing)
    if time.watermark_us is None:
        refuse("E_NOT_HELD", f"stream {query.stream} has had no rows yet", hint="ask again later")
    held = _best(found, query, time.watermark_us)
    if held.too_long(query, time.watermark_us):
        refuse_too_long(held, query, time.watermark_us)
    slices = state.version.slices(held.synopsis.id)
    return held, tuple(_due(query, held, slices, time.watermark_us))


def _best(found: list[Held], query: QueryPlan, until_us: int) -> Held:
    """For the newest window the first that has it, for all windows the one with most of them."""
    if query.window.is_soft:
        return min(found, key=lambda held: bool(held.too_long(query, until_us)))
    return min(found, key=lambda held: held.since_us)


def _due(query: QueryPlan, held: Held, slices: IntArray, until_us: int) -> Iterator[Due]:
    for spec in specs_of(query):
        after_us = held.since_us + spec.range_us - 1
        if query.window.is_soft:
            after_us = max(after_us, until_us - spec.slide_us)
        for first_us, windows in due_windows(Specs.of([spec]), slices, after_us, until_us)[0]:
            yield Due(query.name, held.synopsis.id, spec.range_us, spec.slide_us, first_us, windows)


def _request(query: QueryPlan, held: Held, due: tuple[Due, ...]) -> WindowRequest:
    batch = QueryBatch.of([lift(query)], [held.reading], is_named=True, delivery=CARRY)
    return WindowRequest.of(batch, [0] * len(due), due)


def _shown(rows: pa.Table) -> str:
    if not len(rows):
        return NO_ROWS
    # Buckets have been one after the other; an order within windows stays.
    start, end, *_ = rows.columns
    rows = rows.take(np.lexsort((end.cast("int64").to_numpy(), start.cast("int64").to_numpy())))
    columns = [cell_texts(column) for column in rows.columns]
    return table(tuple(rows.column_names), list(zip(*columns, strict=True)))
