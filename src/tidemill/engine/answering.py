"""Step 5 of a tick: which tasks answer which windows, from which pieces."""

from __future__ import annotations

import numpy as np

from tidemill.catalog import Stream
from tidemill.engine.deciding import Deciding
from tidemill.engine.records import Decision, TickRecord
from tidemill.engine.surroundings import Surroundings
from tidemill.operators.answer import finishes_here
from tidemill.spark.answer import CARRY, AnswerTask, Question, TaskResult, run_answers
from tidemill.synopsis.model import Synopsis
from tidemill.synopsis.pieces import Piece
from tidemill.synopsis.store import Version


def route_of(around: Surroundings, query: str) -> str:
    """Rows come back to the driver only when somebody there has work with them."""
    plan = around.plan.query(query)
    watched = query in around.subscribers
    if plan.is_ordered or watched or not finishes_here(plan):
        return CARRY
    return around.sinks[query].route


class Answering:
    def __init__(self, around: Surroundings, stream: Stream, deciding: Deciding) -> None:
        self._around, self._deciding = around, deciding
        self._synopses = around.synopses_of(stream)

    def run(self, record: TickRecord, decision: Decision, version: Version) -> list[TaskResult]:
        tasks = []
        for key, synopsis in self._synopses.items():
            questions = tuple(
                Question(
                    self._around.plan.query(due.query),
                    due.range_us,
                    np.array(due.starts, dtype=np.int64),
                    route_of(self._around, due.query),
                    self._around.plan.reading(due.query, key),
                )
                for due in decision.due
                if due.synopsis == key
            )
            compacts = self._deciding.compacts(synopsis, decision, version)
            if version.of(key) and (questions or compacts):
                from_us = self._deciding.horizon(synopsis, decision) if compacts else None
                tasks += self._tasks(record, synopsis, version.of(key), questions, from_us)
        return run_answers(self._around.session, tasks)

    def _tasks(
        self,
        record: TickRecord,
        synopsis: Synopsis,
        pieces: tuple[Piece, ...],
        questions: tuple[Question, ...],
        snapshot_from_us: int | None,
    ) -> list[AnswerTask]:
        home = self._around.home
        return [
            AnswerTask(
                synopsis=synopsis,
                bucket=bucket,
                folder=home.synopses / synopsis.id,
                pieces=tuple(piece for piece in pieces if piece.span(bucket)),
                questions=questions,
                staging=home.staging,
                tick=record.number,
                snapshot_from_us=snapshot_from_us,
                failpoint=self._around.failpoint,
            )
            for bucket in sorted({b for piece in pieces for b, _, _ in piece.spans})
        ]
