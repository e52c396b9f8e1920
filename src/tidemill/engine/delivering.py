"""Step 6 of a tick: finish what came back, hand answers to their sinks, count them."""

from __future__ import annotations

import pyarrow as pa

from tidemill.catalog import Stream
from tidemill.engine.answering import route_of
from tidemill.engine.journal import QueryState
from tidemill.engine.records import TickRecord
from tidemill.engine.sinks import Batch, SinkWriter, distinct_writers
from tidemill.engine.surroundings import Surroundings
from tidemill.operators.answer import finish, finishes_here, keep_top, merge, visible
from tidemill.plan.model import QueryPlan
from tidemill.spark.answer import CARRY, Answered, TaskResult, read_carried
from tidemill.spark.finishing import finish_by_spark
from tidemill.spark.fold import FoldReport


class Delivering:
    def __init__(self, around: Surroundings, stream: Stream) -> None:
        self._around = around
        self._queries = around.queries_of(stream)
        self._published: dict[str, pa.Table] = {}
        self._answers: dict[str, int] = {}
        self._raised: dict[str, int] = {}

    def run(
        self, record: TickRecord, folded: FoldReport, results: list[TaskResult]
    ) -> dict[str, int]:
        """Answers by query. Nothing is final until the tick is committed."""
        by_query: dict[str, list[Answered]] = {}
        for result in results:
            for answered in result.answers:
                by_query.setdefault(answered.query, []).append(answered)
        self._raised = {query.name: self._raised_by(query, folded) for query in self._queries}
        self._answers = {}
        for place, (name, parts) in enumerate(by_query.items()):
            self._answers[name] = self._deliver(record.number, name, parts)
            if place == len(by_query) // 2:
                self._around.failpoint.reach("deliver", record.number)
        return self._answers

    def query_states(self) -> dict[str, QueryState]:
        """The states of the stream's queries once the tick is committed."""
        return {
            name: self._around.queries[name].after(self._answers.get(name, 0), raised)
            for name, raised in self._raised.items()
        }

    def writers(self) -> list[SinkWriter]:
        """The sinks of the stream's queries, each once."""
        return distinct_writers(self._around.sinks[query.name] for query in self._queries)

    def publish(self) -> None:
        """After the commit: what may be done only once, and what others wait for."""
        for writer in self.writers():
            writer.committed(self._around.clock.now_us())
        published, self._published = self._published, {}
        for name, rows in published.items():
            for callback in self._around.subscribers.get(name, ()):
                callback(rows)

    def _deliver(self, tick: int, name: str, parts: list[Answered]) -> int:
        self._raised[name] += sum(part.raised for part in parts)
        if route_of(self._around, name) == CARRY:
            rows = self._published[name] = self._finished(name, parts)
            count, batch = len(rows), Batch(name, tick, rows=rows)
        else:
            count = sum(part.rows for part in parts)
            batch = Batch(name, tick, staged=tuple(p.staged for p in parts if p.staged))
        self._around.sinks[name].deliver(batch)
        return count

    def _finished(self, name: str, parts: list[Answered]) -> pa.Table:
        """The buckets' rows together: finished by Spark where need be, ordered, cut."""
        plan = self._around.plan.query(name)
        rows = merge([read_carried(part) for part in parts])
        if not finishes_here(plan):
            by_spark = finish_by_spark(self._around.session, plan, rows)
            rows, raised = finish(plan, rows, by_spark)
            self._raised[name] += int(raised.sum())
        return visible(plan, keep_top(plan, rows))

    def _raised_by(self, query: QueryPlan, folded: FoldReport) -> int:
        """Errors in tuple-level expressions, charged to every query that uses them."""
        mine = {scalar.sql for scalar in query.scalars}
        return sum(count for sql, count in folded.raised.items() if sql in mine)
