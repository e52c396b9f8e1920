"""A SELECT by itself: answered once, now, over the windows that a synopsis has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa

from tidemill.aggregates.user import give_back
from tidemill.answer.request import CARRY, QueryBatch, WindowRequest
from tidemill.answer.rows import answer_schema
from tidemill.answer.shapes import lift
from tidemill.answer.task import (
    AnswerFolders,
    AnswerTask,
    answer_tasks,
    joint_tasks,
    synopsis_over,
)
from tidemill.arrays import IntArray
from tidemill.catalog import Catalog
from tidemill.engine.home import Home
from tidemill.engine.tick.journal import StreamState
from tidemill.errors import refuse
from tidemill.explain.replies import Selection
from tidemill.failpoints import NOWHERE
from tidemill.language.names import Name
from tidemill.plan.predicates import AnyReading
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name, source_names
from tidemill.schedule import Due, Specs, due_windows
from tidemill.share import SharedPlan, StreamPosition, specs_of
from tidemill.share.serves import Serving, find_servings, refuse_too_long
from tidemill.spark.finishing import finish_rows
from tidemill.spark.jobs import SparkAccess, run_answers
from tidemill.state.pieces import Piece
from tidemill.time import Register

StreamStates = Mapping[Name, StreamState]
"""The streams as they are, by name."""


@dataclass(frozen=True)
class OneTimeAnswerer:
    session: SparkAccess
    home: Home

    def answer(self, query: QueryPlan, plan: SharedPlan, states: StreamStates) -> Selection:
        """The answer; refused if no synopsis has it."""
        windows = windows_held(query, plan, states)
        if not windows.due:
            return Selection(answer_schema(query).empty_table())
        folders = AnswerFolders(self.home.synopses, self.home.staging, NOWHERE)
        batch, tasks = windows.tasks(query, folders)
        return self._answered(query, batch, tasks)

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
    joins = (join for part in query.by_source for join in part.relation.joins)
    tables = [("table", join.table) for join in joins]
    for kind, name in (*sources, *tables):
        if standing.definition(kind, name) != catalog.definition(kind, name):
            refuse(
                "E_NOT_HELD",
                f"nothing is held of {kind} {name} as this script declares it",
                hint="a SELECT is answered from what standing queries have kept before it",
            )


@dataclass(frozen=True)
class HeldWindows:
    """The synopses that have windows in whole, one for each part of a query, and which."""

    servings: tuple[Serving, ...]
    pieces: tuple[tuple[Piece, ...], ...]  # of each of them
    due: tuple[Due, ...]

    def tasks(
        self, query: QueryPlan, folders: AnswerFolders
    ) -> tuple[QueryBatch, list[AnswerTask]]:
        """What answers them, and the query as the tasks see it."""
        if not query.parts:
            (serving,), (pieces,) = self.servings, self.pieces
            request = self._request(query, serving.reading)
            tasks = answer_tasks(folders, 0, serving.synopsis, pieces, [request], keys=serving.keys)
            return request.batch, tasks
        synopses = [serving.synopsis for serving in self.servings]
        joint = synopsis_over("one time", [query], synopses)
        reading = joint.reading(query, [serving.reading for serving in self.servings])
        request = self._request(query, reading)
        return request.batch, joint_tasks(folders, 0, joint, self.pieces, [request], False)

    def _request(self, query: QueryPlan, reading: AnyReading) -> WindowRequest:
        batch = QueryBatch.of([lift(query)], [reading], is_named=True, delivery=CARRY)
        return WindowRequest.of(batch, [0] * len(self.due), self.due)


def windows_held(query: QueryPlan, plan: SharedPlan, states: StreamStates) -> HeldWindows:
    """The windows with rows that have closed and are held in whole.

    With a soft period it is the newest, as a standing query would be answered.
    """
    sources = source_names(query.relation)
    choices = [find_servings(plan, part, _position(part, states)) for part in query.by_source]
    time = Register.of_all(states[source].time for source in sources)
    until_us = time.reach_us(query.window.update_us) if query.is_soft else time.watermark_us
    if until_us is None:
        begun = {source for source in sources if states[source].time.watermark_us is not None}
        stream = next((source for source in sources if source not in begun), sources[0])
        refuse("E_NOT_HELD", f"stream {stream.written} has had no rows yet", hint="ask again later")
    servings = tuple(_best(several, query, until_us) for several in choices)
    for serving in servings:
        if serving.too_long(query, until_us):
            refuse_too_long(serving, query, until_us)
    versions = [states[source_name(part.relation)].version for part in query.by_source]
    pairs = list(zip(servings, versions, strict=True))
    slices = reduce(np.union1d, (version.slices(s.synopsis.id) for s, version in pairs))
    since_us = max(
        serving.since_us + part.window.range_us - query.window.range_us
        for serving, part in zip(servings, query.by_source, strict=True)
    )
    due = tuple(_due(query, since_us, slices, until_us))
    return HeldWindows(servings, tuple(v.of(s.synopsis.id) for s, v in pairs), due)


def _position(part: QueryPlan, states: StreamStates) -> StreamPosition:
    state = states[source_name(part.relation)]
    return StreamPosition(
        state.time.newest_us, state.time.watermark_us, state.version.complete_from
    )


def _best(servings: list[Serving], query: QueryPlan, until_us: int) -> Serving:
    """For the newest window the first that has it, for all windows the one with most of them."""
    if query.window.is_soft:
        return min(servings, key=lambda serving: bool(serving.too_long(query, until_us)))
    return min(servings, key=lambda serving: serving.since_us)


def _due(query: QueryPlan, since_us: int, slices: IntArray, until_us: int) -> Iterator[Due]:
    for spec in specs_of(query):
        after_us = since_us + spec.range_us - 1
        if query.window.is_soft:
            after_us = max(after_us, until_us - spec.slide_us)
        for first_us, windows in due_windows(Specs.of([spec]), slices, after_us, until_us)[0]:
            lengths = spec.range_us, spec.slide_us
            yield Due((query.name,), "", *lengths, first_us, windows)


def _by_window(rows: pa.Table) -> pa.Table:
    """Buckets have been one after the other; an order within windows stays."""
    start, end, *_ = rows.columns
    return rows.take(np.lexsort((end.cast("int64").to_numpy(), start.cast("int64").to_numpy())))
