"""Step 5 as one Spark job: a task per synopsis and bucket reads pieces and answers."""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tidemill.aggregates.user import take_told
from tidemill.answer.answer import answer
from tidemill.answer.asked import Asked
from tidemill.answer.handing import Answers
from tidemill.answer.rows import together
from tidemill.arrays import IntArray
from tidemill.failpoints import Failpoint
from tidemill.state.cells import Cells, joined, merged, rolled_up
from tidemill.state.pieces import Piece, read_bucket, write_piece
from tidemill.state.synopsis import Synopsis

STAGE, COUNT, CARRY = "stage", "count", "carry"


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


# Measured: a row read from a piece and put into its cell, and a group of a window answered.
ROW_NS, CELL_NS = 150, 8
# A sketch read; of a window it takes as long or several times that, but HAVING leaves few.
SKETCH_NS = 400
# A Spark job costs 0.1 s before it does anything, each task more than there are cores 0.04 s,
# a thread 0.1 ms.
MOST_WORK_HERE_NS, LEAST_WORK_APART_NS = 200_000_000, 5_000_000


def run_answers(
    session: Callable[[], SparkSession], tasks: Sequence[AnswerTask]
) -> list[TaskResult]:
    """Every task once; results in the order of the tasks. Small work is done without Spark."""
    work_ns = sum(task.work_ns for task in tasks)
    if work_ns <= LEAST_WORK_APART_NS or len(tasks) == 1:
        results = [run_task(task) for task in tasks]
    elif work_ns <= MOST_WORK_HERE_NS:
        # NumPy lets go of the interpreter in its long loops, so threads use the cores.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(run_task, tasks))
    else:
        results = _run_there(session(), tasks)
    return [
        replace(result, questions=task.questions)
        for task, result in zip(tasks, results, strict=True)
    ]


def _run_there(session: SparkSession, tasks: Sequence[AnswerTask]) -> list[TaskResult]:
    """One Spark job with a load for each core, in which tasks of many buckets follow each other."""
    loads = balanced([task.work_ns for task in tasks], session.sparkContext.defaultParallelism)
    # Spark's own pickling, made for code typed at a prompt, takes three times as long.
    work = [pickle.dumps([tasks[place] for place in load]) for load in loads]
    done = session.sparkContext.parallelize(work, len(work)).map(_run_load).collect()
    found = dict(zip(chain(*loads), chain(*map(pickle.loads, done)), strict=True))
    return [found[place] for place in range(len(tasks))]


def _run_load(load: bytes) -> bytes:
    return pickle.dumps([run_task(task) for task in pickle.loads(load)])


def balanced(work: Sequence[int], most: int) -> list[list[int]]:
    """Places of the work in up to so many loads: each goes, the largest first, to the least.

    >>> balanced([5, 3, 3, 4], 2)
    [[0, 2], [3, 1]]
    """
    loads: list[list[int]] = [[] for _ in range(min(most, len(work)))]
    weights = [0] * len(loads)
    for place in sorted(range(len(work)), key=lambda place: -work[place]):
        least = weights.index(min(weights))
        loads[least].append(place)
        weights[least] += work[place]
    return loads


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


def stage(folder: Path, tick: int, rows: pa.Table) -> str:
    """Write answers where no reader looks yet; the ledger makes them real."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{tick:08d}-{uuid.uuid4().hex}.parquet"
    pq.write_table(rows, folder / name)
    return name


def _snapshot(task: AnswerTask, cells: Cells) -> Piece | None:
    if task.snapshot_from_us is None:
        return None
    live = cells.where((cells.slices >= task.snapshot_from_us)[cells.slice_index])
    return write_piece(task.folder, task.synopsis, merged(task.synopsis.lanes, live), task.buckets)
