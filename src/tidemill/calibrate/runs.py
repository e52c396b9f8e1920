"""The fixed cost of a joint run of soft queries: before it answers, and after it has."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tidemill.answer.request import COUNT, QueryBatch, WindowRequest
from tidemill.answer.shapes import lift
from tidemill.answer.task import AnswerFolders, AnswerTask, answer_tasks, run_task
from tidemill.calibrate.cells import make_cells
from tidemill.calibrate.fitting import Job, Watch
from tidemill.calibrate.stage import query, synopsis_for
from tidemill.engine.home import Home
from tidemill.engine.tick.journal import Journal, QueryState, StreamState, TickRecord
from tidemill.failpoints import NOWHERE
from tidemill.language.names import Name
from tidemill.schedule import History
from tidemill.state.pieces import Piece, write_piece
from tidemill.state.store import Version
from tidemill.time import Register

_SECOND_US = 1_000_000
_BUCKETS, _PIECES, _GROUPS = 2, 4, 20
_FEW, _MANY = 2, 10  # runs


def run_ns(watch: Watch, folder: Path) -> float:
    """By runs: more of them, each of a query with next to no cells, in several pieces.

    From the questions on: pieces read, an answer found, the run committed.
    """
    home = Home(folder / "home")
    try:
        runs = _Runs(home)
        return watch.each_ns(*(Job(partial(runs.go, count), count) for count in (_FEW, _MANY)))
    finally:
        home.close()
        shutil.rmtree(home.path)


class _Runs:
    """One soft query, and the store that it reads."""

    def __init__(self, home: Home) -> None:
        soft_query = query("src", slide_ms=1_000)
        self._synopsis = synopsis_for(0, [soft_query]).synopsis
        self._folder = home.synopses / self._synopsis.id
        self._folders = AnswerFolders(home.synopses, home.staging, NOWHERE)
        self._batch = QueryBatch.of([lift(soft_query)], delivery=COUNT)
        self._journal = Journal(home.open())
        self._state = StreamState(version=Version({self._synopsis.id: self._pieces()}))

    def _pieces(self) -> tuple[Piece, ...]:
        cells = make_cells(self._synopsis, _PIECES)
        cells = cells.where(cells.group < _GROUPS)
        slices = (cells.where(cells.slice_index == number) for number in range(_PIECES))
        written = (write_piece(self._folder, self._synopsis, part, _BUCKETS) for part in slices)
        return tuple(piece for piece in written if piece)

    def go(self, runs: int) -> None:
        for number in range(runs):
            for task in self._tasks(number):
                run_task(task)
            self._commit(number)

    def _tasks(self, number: int) -> Sequence[AnswerTask]:
        bounds = np.zeros(1, np.int64), np.full(1, _PIECES * _SECOND_US)
        request = WindowRequest(self._batch, np.zeros(1, np.int64), *bounds)
        pieces = self._state.version.of(self._synopsis.id)
        return answer_tasks(self._folders, number, self._synopsis, pieces, [request])

    def _commit(self, number: int) -> None:
        record = TickRecord("packets", number, 1, 0, Register())
        histories = {"q": QueryState(history=History(runs=1))}
        with self._journal.transaction():
            self._journal.commit(record, {Name(record.stream): self._state}, histories)
