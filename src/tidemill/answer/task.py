"""One bucket's task of step 5: read the pieces that its questions need, and answer them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from tidemill.aggregates.user import take_told
from tidemill.answer.answer import answer
from tidemill.answer.asked import Asked
from tidemill.answer.delivery import CARRY, stage
from tidemill.answer.handing import Answers
from tidemill.answer.rows import together
from tidemill.arrays import IntArray
from tidemill.failpoints import Failpoint
from tidemill.state.cells import Cells, joined, merged, rolled_up
from tidemill.state.pieces import Piece, read_bucket, write_piece
from tidemill.state.synopsis import Synopsis

# Measured: a row read from a piece and put into its cell, and a group of a window answered.
ROW_NS, CELL_NS = 150, 8
# A sketch read; of a window it takes as long or several times that, but HAVING leaves few.
SKETCH_NS = 400


@dataclass(frozen=True)
class Question:
    """Queries of one shape, their windows to answer, and what happens to the answers.

    `stage`: the task writes a file; `count`: the task counts and forgets; `carry`: the
    rows come back, because they have yet to be finished, ordered or shown.
    """

    queries: tuple[str, ...]
    asked: Asked
    route: str


@dataclass(frozen=True)
class AnswerTask:
    synopsis: Synopsis
    read: tuple[int, ...]  # buckets
    folder: Path
    buckets: int
    pieces: tuple[Piece, ...]
    questions: tuple[Question, ...]
    staging: Path
    tick: int
    snapshot_from_us: int | None  # write what is live from here on as one new piece
    failpoint: Failpoint
    # Questions by fewer keys than the synopsis has, here by their columns, need all buckets.
    keys: tuple[str, ...] | None = None

    @property
    def work_ns(self) -> int:
        """About how long the task takes: reading its rows, then windows times groups."""
        spans = (piece.span(bucket) for piece in self.pieces for bucket in self.read)
        rows = sum(span[1] for span in spans if span)
        slices = max((len(piece.slices) for piece in self.pieces), default=1)
        windows = sum(len(question.asked.owner) for question in self.questions)
        sketches = sum(lane.is_sketch for lane in self.synopsis.lanes)
        row_ns, cell_ns = ROW_NS + SKETCH_NS * sketches, CELL_NS + SKETCH_NS // 2 * sketches
        return row_ns * rows + cell_ns * windows * (rows // max(1, slices))


@dataclass(frozen=True)
class Part:
    """One bucket's answers to one question: rows and errors by query, a file or a table."""

    counts: IntArray
    raised: IntArray
    staged: str = ""
    rows: pa.Table | None = None


@dataclass(frozen=True)
class TaskResult:
    """The questions are put back by the driver, which need not be told them again."""

    synopsis_id: str
    parts: tuple[Part, ...]
    snapshot: Piece | None
    told: Mapping[str, str] = field(default_factory=dict)  # what users' code raised, by aggregate
    questions: tuple[Question, ...] = ()


def run_task(task: AnswerTask) -> TaskResult:
    cells = _cells(task)
    answers = answer(task.synopsis, cells, [question.asked for question in task.questions])
    parts = [
        _part(task, question, found)
        for question, found in zip(task.questions, answers, strict=True)
    ]
    task.failpoint.reach("answer", task.tick)
    return TaskResult(task.synopsis.id, tuple(parts), _snapshot(task, cells), take_told())


def _cells(task: AnswerTask) -> Cells:
    """The cells some question or the snapshot needs, and no others."""
    low, high = _needed(task)
    cells = joined(
        [
            read_bucket(task.folder, task.synopsis, piece, bucket, low, high)
            for piece in task.pieces
            for bucket in task.read
            if piece.span(bucket)
        ]
    )
    return cells if task.keys is None else rolled_up(task.synopsis.lanes, cells, task.keys)


def _needed(task: AnswerTask) -> tuple[int, int]:
    if task.snapshot_from_us is not None:
        lows, highs = [task.snapshot_from_us], [piece.last_us + 1 for piece in task.pieces]
    else:
        lows, highs = [], []
    for question in task.questions:
        lows.append(int(question.asked.starts.min()))
        highs.append(int(question.asked.ends.max()))
    return min(lows, default=0), max(highs, default=0)


def _part(task: AnswerTask, question: Question, answers: Answers) -> Part:
    part = Part(answers.counts, answers.raised)
    if answers.rows is None or not len(answers.rows):
        return part
    if question.route == CARRY:
        return replace(part, rows=answers.rows)
    found = together(question.asked.sheet, [answers.rows])
    staged = stage(task.staging, task.tick, found.rows)
    return Part(found.counts, answers.raised + found.raised, staged)


def _snapshot(task: AnswerTask, cells: Cells) -> Piece | None:
    if task.snapshot_from_us is None:
        return None
    live = cells.where((cells.slices >= task.snapshot_from_us)[cells.slice_index])
    return write_piece(task.folder, task.synopsis, merged(task.synopsis.lanes, live), task.buckets)
