"""Step 5 as one Spark job: a task per synopsis and bucket reads pieces and answers."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from tidemill.failpoints import Failpoint
from tidemill.operators.answer import Answers, Asked, answer, visible
from tidemill.plan.model import QueryPlan
from tidemill.plan.predicates import ALL_ROWS, Reading
from tidemill.synopsis.cells import SLICE, Cells, gather, scatter
from tidemill.synopsis.model import Synopsis
from tidemill.synopsis.pieces import Piece, read_bucket, write_piece

IntArray = NDArray[np.int64]
STAGE, COUNT, CARRY = "stage", "count", "carry"


@dataclass(frozen=True)
class Question:
    """One query's windows to answer, and what happens to the answers.

    `stage`: the task writes a file; `count`: the task counts and forgets; `carry`: the
    rows come back, because they have yet to be finished, ordered or shown.
    """

    plan: QueryPlan
    range_us: int
    starts: IntArray
    route: str
    reading: Reading = ALL_ROWS


@dataclass(frozen=True)
class AnswerTask:
    synopsis: Synopsis
    bucket: int
    folder: Path
    pieces: tuple[Piece, ...]
    questions: tuple[Question, ...]
    staging: Path
    tick: int
    snapshot_from_us: int | None  # write what is live from here on as one new piece
    failpoint: Failpoint

    @property
    def work(self) -> int:
        """Cells to look at, times how often: a measure, not a promise."""
        rows = sum(span[1] for piece in self.pieces if (span := piece.span(self.bucket)))
        return rows * (1 + len(self.questions))


@dataclass(frozen=True)
class Answered:
    """One bucket's part of one query's answers."""

    query: str
    rows: int
    raised: int
    staged: str = ""
    carried: bytes = b""


@dataclass(frozen=True)
class TaskResult:
    synopsis_id: str
    answers: tuple[Answered, ...]
    snapshot: Piece | None


# A Spark job costs 0.1 s before it does anything; this many cells times questions take less.
MOST_WORK_HERE = 2_000_000


def run_answers(session: SparkSession, tasks: Sequence[AnswerTask]) -> list[TaskResult]:
    """Every task once; results in the order of the tasks. Small work is done on the spot."""
    if sum(task.work for task in tasks) <= MOST_WORK_HERE:
        return [run_task(task) for task in tasks]
    return list(session.sparkContext.parallelize(tasks, len(tasks)).map(run_task).collect())


def run_task(task: AnswerTask) -> TaskResult:
    cells = _cells(task)
    asked = [
        Asked(question.plan, question.range_us, question.starts, question.reading)
        for question in task.questions
    ]
    answers = [
        _deliver(task, question, answers)
        for question, answers in zip(
            task.questions, answer(task.synopsis, cells, asked), strict=True
        )
    ]
    task.failpoint.reach("answer", task.tick)
    return TaskResult(task.synopsis.id, tuple(answers), _snapshot(task, cells))


def read_carried(answered: Answered) -> pa.Table:
    return pa.ipc.open_stream(answered.carried).read_all()


def _cells(task: AnswerTask) -> Cells:
    """The cells some question or the snapshot needs, and no others."""
    low, high = _needed(task)
    tables = [read_bucket(task.folder, p, task.bucket, low, high) for p in task.pieces]
    return gather(task.synopsis, pa.concat_tables(tables, promote_options="default"))


def _needed(task: AnswerTask) -> tuple[int, int]:
    if task.snapshot_from_us is not None:
        lows, highs = [task.snapshot_from_us], [piece.last_us + 1 for piece in task.pieces]
    else:
        lows, highs = [], []
    for question in task.questions:
        if len(question.starts):
            lows.append(int(question.starts.min()))
            highs.append(int(question.starts.max()) + question.range_us)
    return min(lows, default=0), max(highs, default=0)


def _deliver(task: AnswerTask, question: Question, answers: Answers) -> Answered:
    name, rows = question.plan.name, answers.rows
    if question.route == CARRY:
        return Answered(name, len(rows), answers.raised, carried=_ipc(rows))
    if question.route == COUNT or not len(rows):
        return Answered(name, len(rows), answers.raised)
    file = stage(task.staging / name, task.tick, visible(question.plan, rows))
    return Answered(name, len(rows), answers.raised, staged=file)


def stage(folder: Path, tick: int, rows: pa.Table) -> str:
    """Write answers where no reader looks yet; the ledger makes them real."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{tick:08d}-{uuid.uuid4().hex}.parquet"
    pq.write_table(rows, folder / name)
    return name


def _snapshot(task: AnswerTask, cells: Cells) -> Piece | None:
    if task.snapshot_from_us is None:
        return None
    rows = scatter(task.synopsis, cells)
    starts = rows.column(SLICE).to_numpy()
    live = rows.slice(int(np.searchsorted(starts, task.snapshot_from_us)))
    return write_piece(task.folder, {task.bucket: live})


def _ipc(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue().to_pybytes())
