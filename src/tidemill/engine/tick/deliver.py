"""Step 6 of a tick: finish what came back, hand answers to their sinks, count them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from tidemill.answer.deltas import AnsweredWindows, changes
from tidemill.answer.gaps import Gaps
from tidemill.answer.request import WindowRequest
from tidemill.answer.rows import BucketAnswers, MergedAnswers
from tidemill.answer.task import TaskResult
from tidemill.answer.withdrawals import ClosedAnswers, withdraw, withdrawn_rows
from tidemill.arrays import IntArray
from tidemill.catalog import Stream
from tidemill.connect.sinks import Batch, distinct_writers
from tidemill.engine.rows.row_answer import RowAnswer
from tidemill.engine.tick.bases import Registers, register_of
from tidemill.engine.tick.context import AnswerContext
from tidemill.engine.tick.journal import QueryState, TickRecord
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_names
from tidemill.scan.contract import FoldReport
from tidemill.spark.finishing import finish_rows
from tidemill.state.raised import RaisedTable

AnsweredRequest = tuple[WindowRequest, list[BucketAnswers]]


class Deliverer:
    def __init__(self, context: AnswerContext, stream: Stream) -> None:
        self._context, self._stream = context, stream.key
        self._queries = context.queries_of(stream)
        self._row_feeds = context.plan.rows_of(stream.key)
        names = [query.name for query in self._queries]
        names += [feed.query.owner for feed in self._row_feeds]
        self._writers = distinct_writers(context.sinks[name] for name in names)
        # By sources and sink: the time of many queries is that of one.
        pairs = ((source_names(q.relation), context.sinks[q.name]) for q in self._queries)
        self._reaching = list({(names, id(sink)): (names, sink) for names, sink in pairs}.values())
        self._published: dict[str, list[pa.Table]] = {}
        self._answers: dict[str, int] = {}
        self._raised: dict[str, int] = {}
        self._user_errors: dict[str, str] = {}
        self._gaps: dict[str, Gaps] = {}
        self._outcomes: dict[str, ClosedAnswers] = {}
        self._stops: dict[str, str] = {}

    @property
    def outcomes(self) -> Mapping[str, ClosedAnswers]:
        """Of the queries that may withdraw answers, what has become of their windows."""
        return self._outcomes

    def deliver(
        self,
        record: TickRecord,
        folded: FoldReport,
        results: list[TaskResult],
        rows: Sequence[RowAnswer] = (),
    ) -> dict[str, int]:
        """Answers by query. Nothing is final until the tick is committed."""
        self._answers, self._raised, self._gaps = {}, self._raised_in_rows(folded), {}
        self._outcomes, self._stops = {}, {}
        self._user_errors = self._user_errors_of(folded, results)
        requests = list(_by_request(results))
        parts = [partial(self._deliver, record.turn, *p) for p in requests if not p[0].batch.delta]
        if changing := [request for request in requests if request[0].batch.delta]:
            parts.append(partial(self._deliver_changes, record.turn, changing))
        parts += [partial(self._deliver_rows, record.turn, answer) for answer in rows]
        for place, deliver_part in enumerate(parts):
            deliver_part()
            if place == len(parts) // 2:
                self._context.folders.failpoint.reach("deliver", record.number)
        return self._answers

    def query_states(self) -> dict[str, QueryState]:
        """The states of the queries for which the tick has changed something."""
        names = [name for name, count in self._answers.items() if count]
        return {
            name: self._context.states[name].after(
                self._answers.get(name, 0),
                self._raised.get(name, 0),
                self._user_errors.get(name, ""),
                self._gaps.get(name),
                self._stops.get(name, ""),
            )
            for name in dict.fromkeys(
                [*names, *self._raised, *self._user_errors, *self._gaps, *self._stops]
            )
        }

    @contextmanager
    def taken_back_on_failure(self) -> Iterator[None]:
        """Within, up to the commit: a tick that fails leaves nothing for another one to commit."""
        try:
            yield
        except BaseException:
            self._published = {}
            for writer in self._writers:
                writer.take_back()
            raise

    def reach(self, times: Registers) -> None:
        """After all answers: how far the time of the queries has come."""
        for sources, writer in self._reaching:
            writer.reach(register_of(sources, times).watermark_us)

    def record(self) -> None:
        """Within the transaction of the commit: the ledgers of the sinks."""
        for writer in self._writers:
            writer.record()

    def publish(self, now_us: int) -> None:
        """After the commit: what may be done only once, and what others wait for."""
        for writer in self._writers:
            writer.committed(now_us)
        published, self._published = self._published, {}
        for name, tables in published.items():
            self._context.subscribers.publish(name, pa.concat_tables(tables))

    def _deliver(self, turn: int, request: WindowRequest, buckets: Sequence[BucketAnswers]) -> None:
        batch, raised = request.batch, np.sum([bucket.raised for bucket in buckets], axis=0)
        sink = self._context.sinks[batch.queries[0]]
        if batch.delivery.returns_rows:
            merged = self._finished(request, buckets)
            if self._context.plan.query(batch.queries[0]).may_withdraw:
                merged = self._with_withdrawn(request, merged)
            raised, counts = raised + merged.raised, merged.counts
            carried = Batch(turn, batch.queries, counts, merged.rows, twins=batch.twins)
            sink.deliver(carried)
            self._note_published([request], carried)
        else:
            counts = np.sum([bucket.counts for bucket in buckets], axis=0)
            for bucket in buckets:
                staged = Batch(
                    turn, batch.queries, bucket.counts, staged=bucket.staged, twins=batch.twins
                )
                sink.deliver(staged)
        self._count(batch.names, counts, raised)
        by_number = batch.names
        for number, gaps in ((n, g) for bucket in buckets for n, g in bucket.gaps.items()):
            for name in by_number[number]:
                self._gaps[name] = self._gaps.get(name, Gaps()) + gaps

    def _finished(self, request: WindowRequest, buckets: Sequence[BucketAnswers]) -> MergedAnswers:
        """The rows that came back, as they are delivered."""
        plan = self._context.plan.query(request.batch.queries[0])
        tables = [bucket.rows for bucket in buckets if bucket.rows is not None]
        return finish_rows(self._context.session, plan, request.batch, tables)

    def _count(self, names: Sequence[tuple[str, ...]], counts: IntArray, raised: IntArray) -> None:
        """A query that moves to another synopsis has windows in two requests of one tick."""
        for queries, count in zip(names, counts.tolist(), strict=True):
            for name in queries:
                self._answers[name] = self._answers.get(name, 0) + count
        for number in np.flatnonzero(raised).tolist():
            for name in names[number]:
                self._raised[name] = self._raised.get(name, 0) + int(raised[number])

    def _deliver_changes(self, turn: int, requests: Sequence[AnsweredRequest]) -> None:
        """The rows in which answers differ from those before them. A query may have windows in
        several requests, and is compared over all of them."""
        groups: dict[Hashable, list[AnsweredWindows]] = {}
        for request, buckets in requests:
            batch, merged = request.batch, self._finished(request, buckets)
            raised = merged.raised + np.sum([bucket.raised for bucket in buckets], axis=0)
            way = batch.delta, id(self._context.sinks[batch.queries[0]]), merged.rows.schema
            groups.setdefault(way, []).append(AnsweredWindows(request, merged, raised))
        for answers in groups.values():
            names = dict.fromkeys(name for part in answers for name in part.request.batch.queries)
            plans = [self._context.plan.query(name) for name in names]
            changed = changes(plans, answers)
            self._count([(name,) for name in names], changed.counts, changed.raised)
            carried = Batch(turn, tuple(names), changed.counts, changed.rows)
            self._context.sinks[plans[0].name].deliver(carried)
            self._note_published([part.request for part in answers], carried)

    def _with_withdrawn(self, request: WindowRequest, merged: MergedAnswers) -> MergedAnswers:
        """With a row for each window of which nothing is left that was there."""
        tables, ends = list[pa.Table](), np.cumsum(merged.counts).tolist()
        for number, (name, count) in enumerate(
            zip(request.batch.queries, merged.counts.tolist(), strict=True)
        ):
            rows = merged.rows.slice(ends[number] - count, count)
            revisions = self._context.states[name].revisions
            outcome, lost = withdraw(request, number, rows, revisions)
            self._outcomes[name] = self._outcomes.get(name, ClosedAnswers()) + outcome
            tables += [rows, withdrawn_rows(self._context.plan.query(name), lost, rows.schema)]
        counts = [sum(map(len, tables[at : at + 2])) for at in range(0, len(tables), 2)]
        return MergedAnswers(pa.concat_tables(tables), np.array(counts), merged.raised)

    def _deliver_rows(self, turn: int, answer: RowAnswer) -> None:
        name, rows, raised = answer.query, 0, 0
        for part in answer.batches:
            self._context.sinks[name].deliver(replace(part.batch, tick=turn))
            if part.batch.rows is not None and name in self._context.subscribers:
                self._published.setdefault(name, []).append(part.batch.rows)
            rows, raised = rows + part.rows, raised + part.raised
        self._answers[name] = self._answers.get(name, 0) + rows
        if raised:
            self._raised[name] = self._raised.get(name, 0) + raised
        if answer.stop:
            self._stops[name] = answer.stop

    def _note_published(self, requests: Sequence[WindowRequest], carried: Batch) -> None:
        """Rows of queries with windows among these, for who watches them."""
        subscribers = self._context.subscribers
        if not any(name in subscribers for r in requests for ns in r.batch.names for name in ns):
            return
        owners = {name for r in requests for number in r.numbers for name in r.batch.names[number]}
        for name, rows in carried.tables():
            if name in owners:
                self._published.setdefault(name, []).append(rows)

    def _user_errors_of(self, folded: FoldReport, results: list[TaskResult]) -> dict[str, str]:
        """Errors of users' code, by query that calls it; answers show them later."""
        errors = dict(folded.user_errors)
        for result in results:
            errors = {**result.user_errors, **errors}
        return {
            query.name: errors[call.code.name]
            for query in (self._queries if errors else ())
            for call in query.aggregates
            if call.code is not None and call.code.name in errors
        }

    def _raised_in_rows(self, folded: FoldReport) -> dict[str, int]:
        """Errors in tuple-level expressions: in conditions those of all rows, else of its own."""
        raised, by_feed = dict[str, int](), folded.raised_in_rows
        if folded.raised:
            table = RaisedTable(folded.raised_by_signature)
            for part in self._context.plan.parts_of(self._stream):
                count = self._raised_for(part, folded, table)
                raised[part.owner] = raised.get(part.owner, 0) + count
        for feed in self._row_feeds:
            owner = feed.query.owner
            raised[owner] = raised.get(owner, 0) + by_feed.get(feed.id, 0)
        return {name: count for name, count in raised.items() if count}

    def _raised_for(self, query: QueryPlan, folded: FoldReport, table: RaisedTable) -> int:
        plan, texts = self._context.plan, {scalar.sql for scalar in query.selected}
        conditions = {scalar.sql for scalar in query.conditions} - texts
        reading, synopsis = plan.stints[query.name][-1].reading, plan.synopsis_of(query.name)
        in_conditions = sum(folded.raised.get(sql, 0) for sql in conditions)
        return in_conditions + table.of_query(synopsis, reading, texts)


def _by_request(
    results: Sequence[TaskResult],
) -> Iterator[AnsweredRequest]:
    """Every request with its answers from all buckets of its synopsis."""
    by_part: dict[tuple[str, int], list[TaskResult]] = {}
    for result in results:
        by_part.setdefault((result.synopsis_id, result.part), []).append(result)
    for buckets in by_part.values():
        for number, request in enumerate(buckets[0].requests):
            yield request, [result.answers[number] for result in buckets]
