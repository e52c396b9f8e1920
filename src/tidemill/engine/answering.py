"""Step 5 of a tick: which tasks answer which windows, from which pieces."""

from __future__ import annotations

from tidemill.catalog import Stream
from tidemill.engine.deciding import Deciding
from tidemill.engine.pages import Pages
from tidemill.engine.records import Decision, TickRecord
from tidemill.engine.surroundings import Surroundings
from tidemill.spark.answer import AnswerTask, Question, TaskResult, run_answers
from tidemill.synopsis.model import Synopsis
from tidemill.synopsis.pieces import Piece
from tidemill.synopsis.store import Version


class Answering:
    def __init__(self, around: Surroundings, stream: Stream, deciding: Deciding) -> None:
        self._around, self._deciding = around, deciding
        self._synopses = around.synopses_of(stream)
        self._pages = {
            key: Pages(around, key, around.plan.readers_of(synopsis))
            for key, synopsis in self._synopses.items()
        }

    def run(self, record: TickRecord, decision: Decision, version: Version) -> list[TaskResult]:
        tasks = []
        for key, synopsis in self._synopses.items():
            questions = self._pages[key].questions(decision.due)
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
                buckets=self._around.buckets[synopsis.id],
                pieces=tuple(piece for piece in pieces if piece.span(bucket)),
                questions=questions,
                staging=home.staging,
                tick=record.number,
                snapshot_from_us=snapshot_from_us,
                failpoint=self._around.failpoint,
            )
            for bucket in sorted({b for piece in pieces for b, _, _ in piece.spans})
        ]
