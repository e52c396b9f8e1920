"""Step 5 of a tick: which tasks answer which windows, from which pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidemill.answer.task import AnswerTask, Question, TaskResult
from tidemill.catalog import Stream
from tidemill.engine.tick.context import Surroundings
from tidemill.engine.tick.pages import Pages
from tidemill.schedule import Due
from tidemill.spark.answer import run_answers
from tidemill.state.pieces import Piece
from tidemill.state.store import Version
from tidemill.state.synopsis import Synopsis


class Answering:
    """The strict queries of a stream, or the soft ones."""

    def __init__(self, around: Surroundings, stream: Stream, of_soft: bool = False) -> None:
        self._around = around
        self._synopses = around.synopses_of(stream)
        self._pages = {
            key: Pages(around, key, around.plan.readers_of(synopsis, of_soft))
            for key, synopsis in self._synopses.items()
        }

    def run(
        self,
        tick: int,
        due: Sequence[Due],
        version: Version,
        snapshots: Mapping[str, int] | None = None,
    ) -> list[TaskResult]:
        """The windows answered; of these synopses, what is live from then on written anew."""
        tasks, snapshots = [], snapshots or {}
        for key, synopsis in self._synopses.items():
            questions, from_us = self._pages[key].questions(due), snapshots.get(key)
            if version.of(key) and (questions or from_us is not None):
                tasks += self._tasks(tick, synopsis, version.of(key), questions, from_us)
        return run_answers(self._around.session, tasks)

    def _tasks(
        self,
        tick: int,
        synopsis: Synopsis,
        pieces: tuple[Piece, ...],
        questions: tuple[Question, ...],
        snapshot_from_us: int | None,
    ) -> list[AnswerTask]:
        home = self._around.home
        return [
            AnswerTask(
                synopsis=synopsis,
                read=(bucket,),
                folder=home.synopses / synopsis.id,
                buckets=self._around.buckets[synopsis.id],
                pieces=tuple(piece for piece in pieces if piece.span(bucket)),
                questions=questions,
                staging=home.staging,
                tick=tick,
                snapshot_from_us=snapshot_from_us,
                failpoint=self._around.failpoint,
            )
            for bucket in sorted({b for piece in pieces for b, _, _ in piece.spans})
        ]
