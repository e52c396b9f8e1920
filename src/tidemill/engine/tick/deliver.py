"""Step 6 of a tick: finish what came back, hand answers to their sinks, count them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidemill.answer.delivery import CARRY
from tidemill.answer.task import Part, Question, TaskResult
from tidemill.catalog import Stream
from tidemill.connect.sinks import Batch, SinkWriter, distinct_writers
from tidemill.engine.tick.context import Surroundings
from tidemill.engine.tick.gathering import by_question, gathered
from tidemill.engine.tick.journal import QueryState
from tidemill.scan.contract import FoldReport


class Delivering:
    def __init__(self, around: Surroundings, stream: Stream) -> None:
        self._around = around
        self._queries = around.queries_of(stream)
        self._published: dict[str, pa.Table] = {}
        self._answers: dict[str, int] = {}
        self._raised: dict[str, int] = {}
        self._troubles: dict[str, str] = {}

    def run(self, tick: int, folded: FoldReport, results: list[TaskResult]) -> dict[str, int]:
        """Answers by query. Nothing is final until the tick is committed."""
        self._answers, self._raised = {}, self._raised_in_rows(folded)
        self._troubles = self._told(folded, results)
        questions = list(by_question(results))
        for place, (question, parts) in enumerate(questions):
            self._deliver(tick, question, parts)
            if place == len(questions) // 2:
                self._around.failpoint.reach("deliver", tick)
        return self._answers

    def query_states(self) -> dict[str, QueryState]:
        """The states of the queries for which the tick has changed something."""
        names = [name for name, count in self._answers.items() if count]
        return {
            name: self._around.queries[name].after(
                self._answers.get(name, 0), self._raised.get(name, 0), self._troubles.get(name, "")
            )
            for name in dict.fromkeys([*names, *self._raised, *self._troubles])
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

    def _deliver(self, tick: int, question: Question, parts: list[Part]) -> None:
        raised = np.sum([part.raised for part in parts], axis=0)
        sink = self._around.sinks[question.queries[0]]
        if question.route == CARRY:
            plan = self._around.plan.query(question.queries[0])
            found = gathered(self._around.session, plan, question, parts)
            raised, counts = raised + found.raised, found.counts
            batch = Batch(tick, question.queries, counts, rows=found.rows)
            sink.deliver(batch)
            self._note_published(question, batch)
        else:
            counts = np.sum([part.counts for part in parts], axis=0)
            for part in parts:
                sink.deliver(Batch(tick, question.queries, part.counts, staged=part.staged))
        self._answers.update(zip(question.queries, counts.tolist(), strict=True))
        for number in np.flatnonzero(raised).tolist():
            name = question.queries[number]
            self._raised[name] = self._raised.get(name, 0) + int(raised[number])

    def _note_published(self, question: Question, batch: Batch) -> None:
        if not any(name in self._around.subscribers for name in question.queries):
            return
        asked = {question.queries[number] for number in set(question.asked.owner.tolist())}
        self._published.update({name: rows for name, rows in batch.tables() if name in asked})

    def _told(self, folded: FoldReport, results: list[TaskResult]) -> dict[str, str]:
        """What the code of users raised, by query that calls it; answers show it later."""
        told = dict(folded.told)
        for result in results:
            told = {**result.told, **told}
        return {
            query.name: told[call.code.name]
            for query in (self._queries if told else ())
            for call in query.aggregates
            if call.code is not None and call.code.name in told
        }

    def _raised_in_rows(self, folded: FoldReport) -> dict[str, int]:
        """Errors in tuple-level expressions, charged to every query that uses them."""
        wrong = {sql: count for sql, count in folded.raised.items() if count}
        raised = {
            query.name: sum(wrong.get(sql, 0) for sql in {s.sql for s in query.scalars})
            for query in (self._queries if wrong else ())
        }
        return {name: count for name, count in raised.items() if count}
