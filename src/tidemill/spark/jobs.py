"""Here, threads or a job: the driver does small work itself, and Spark does large work.

A Spark job costs a tenth of a second before it does anything, a thread 0.1 ms. The limits below
say how much work is worth which. Nothing here starts Spark before a job is due, and where Spark
would have to be started first, work that is over sooner goes to threads. The tasks of step 5,
which answer windows, go whole to the place that suits them.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tidemill.answer.task import AnswerTask, TaskResult, run_task
from tidemill.memory import keep_freed_memory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Load = TypeVar("Load")
Result = TypeVar("Result")
GetSession = Callable[[], "SparkSession"]


class Workplace(IntEnum):
    """In the order of what they cost to begin with."""

    HERE = 0
    THREADS = 1
    JOB = 2


# On so many cores the limits were measured. Threads share an interpreter and hardly use more of
# them; the tasks of a job do.
MEASURED_CORES = 2


@dataclass(frozen=True)
class Limits:
    """The most of a measure that is done here, and the most that is done in threads beside so few
    cores as were measured; and about how long threads take for each."""

    here: int
    threads: int
    each_ns: int = 0

    def workplace_of(self, amount: int, cores: int) -> Workplace:
        if amount <= self.here:
            return Workplace.HERE
        most = max(self.here, self.threads * MEASURED_CORES // max(cores, MEASURED_CORES))
        return Workplace.THREADS if amount <= most else Workplace.JOB


@dataclass(frozen=True)
class WorkSize:
    """The size of a piece of work, in those measures of `LIMITS` in which it is known."""

    answer_ns: int = 0
    scanned_rows: int = 0
    scanned_cells: int = 0
    partial_rows: int = 0
    input_rows: int = 0
    picked_rows: int = 0
    is_one_task: bool = False  # which nobody can share


# By measure of `WorkSize`.
LIMITS = {
    # Rows and cells that go to a job's workers and back cost two to three times what is done with
    # them. NumPy and compiled loops let go of the interpreter, so threads use two cores. More
    # than these was not measured, and would stand in the driver's memory at a time.
    "answer_ns": Limits(here=5_000_000, threads=8_000_000_000, each_ns=1),
    "scanned_rows": Limits(here=0, threads=40_000_000, each_ns=100),
    "scanned_cells": Limits(here=100_000, threads=4_000_000, each_ns=1_000),
    # A Python stage in Catalyst's job costs a tenth of a second whatever it does, and so many
    # partial rows come over to the driver in less.
    "partial_rows": Limits(here=100_000, threads=100_000),
    # A first tick has only its input to judge by, usually many times more than its partials.
    "input_rows": Limits(here=3_000_000, threads=3_000_000),
    # Rows that leave as they are come over in half of the time that a Python stage takes to write
    # them; so many of them do not fill the driver's memory.
    "picked_rows": Limits(here=12_000_000, threads=12_000_000),
}
# To sketch a row takes as long as everything else that is done with so many.
SKETCHED_ROW = 5
# Rows that are only counted or picked leave less to do after the scan than cells do: threads are
# faster than a job, by wall and by processor, while there are up to so many times as many.
PICKED_ROWS = 10
# Threads share an interpreter: of those that scan, more than a few only wait for each other.
MOST_SCANNING_THREADS = 4


def workplace_of(work: WorkSize, cores: int = MEASURED_CORES) -> Workplace:
    """The place that the largest of the work's measures asks for, where a job has so many cores."""
    if work.is_one_task:
        return Workplace.HERE
    amounts: dict[str, int] = {measure: getattr(work, measure) for measure in LIMITS}
    return max(limits.workplace_of(amounts[measure], cores) for measure, limits in LIMITS.items())


def threads_ns(work: WorkSize) -> int:
    """About how long threads take for it."""
    amounts: dict[str, int] = {measure: getattr(work, measure) for measure in LIMITS}
    return max(limits.each_ns * amounts[measure] for measure, limits in LIMITS.items())


class SparkAccess(Protocol):
    """Gives the session, and says where a piece of work is done, which Spark's start counts in."""

    def __call__(self, reason: str = "") -> SparkSession: ...

    def workplace_of(self, work: WorkSize) -> Workplace: ...


def scan_work(rows: int, last_cells: int, is_sketched: bool) -> WorkSize:
    """A scan on arrays. The cells that will come are guessed from the last tick."""
    return WorkSize(
        scanned_rows=rows * (SKETCHED_ROW if is_sketched else 1), scanned_cells=last_cells
    )


def picking_work(rows: int) -> WorkSize:
    """The same where nobody groups rows."""
    return WorkSize(scanned_rows=rows // PICKED_ROWS)


def catalyst_work(last_partial_rows: int | None, most_input_rows: int | None) -> WorkSize:
    """A fold of Catalyst's partial rows, whose number is guessed from the last tick.

    Before the first tick the input decides; if its size is not known, the work is large.
    """
    if last_partial_rows is not None:
        return WorkSize(partial_rows=last_partial_rows)
    limit = LIMITS["input_rows"].threads
    return WorkSize(input_rows=limit + 1 if most_input_rows is None else most_input_rows)


def picked_work(last_picked_rows: int | None, most_input_rows: int | None) -> WorkSize:
    """Rows that leave as they are, guessed in the same way."""
    if last_picked_rows is not None:
        return WorkSize(picked_rows=last_picked_rows)
    limit = LIMITS["picked_rows"].threads
    return WorkSize(picked_rows=limit + 1 if most_input_rows is None else most_input_rows)


def cores() -> int:
    """The cores that threads of the driver have."""
    return os.cpu_count() or 1


def in_threads(
    function: Callable[[Load], Result], loads: Sequence[Load], most: int
) -> list[Result]:
    """The result of each load in order, by up to so many threads; a single load needs none."""
    if len(loads) < 2 or most < 2:
        return [function(load) for load in loads]
    with ThreadPoolExecutor(max_workers=min(most, len(loads))) as pool:
        return list(pool.map(function, loads))


def in_job(
    session: SparkSession, function: Callable[[Load], Result], loads: Sequence[Load]
) -> list[Result]:
    """The result of each load in order, by one Spark job with a task for each.

    The function is pickled, so it is one of a module, or a method of what can be pickled.
    """
    # Spark's own pickling, made for code typed at a prompt, takes three times as long.
    packed = [pickle.dumps((function, load)) for load in loads]
    results = session.sparkContext.parallelize(packed, len(packed)).map(_run_packed).collect()
    return [pickle.loads(result) for result in results]


def _run_packed(packed: bytes) -> bytes:
    keep_freed_memory()
    function, load = pickle.loads(packed)
    result: Any = function(load)
    return pickle.dumps(result)


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


def run_answers(spark: SparkAccess, tasks: Sequence[AnswerTask]) -> list[TaskResult]:
    """Every task once; results in the order of the tasks. Small work is done without Spark."""
    work_ns = sum(task.work_ns for task in tasks)
    place = spark.workplace_of(WorkSize(answer_ns=work_ns, is_one_task=len(tasks) == 1))
    if place is Workplace.JOB:
        results = _run_there(spark("large answers"), tasks)
    else:
        results = in_threads(run_task, tasks, cores() if place is Workplace.THREADS else 1)
    return [
        replace(result, requests=task.requests) for task, result in zip(tasks, results, strict=True)
    ]


def _run_there(session: SparkSession, tasks: Sequence[AnswerTask]) -> list[TaskResult]:
    """One Spark job with a load for each core, in which tasks of many buckets follow each other."""
    loads = balanced([task.work_ns for task in tasks], session.sparkContext.defaultParallelism)
    results = in_job(session, run_tasks, [[tasks[place] for place in load] for load in loads])
    by_place = dict(zip(chain(*loads), chain(*results), strict=True))
    return [by_place[place] for place in range(len(tasks))]


def run_tasks(tasks: Sequence[AnswerTask]) -> list[TaskResult]:
    return [run_task(task) for task in tasks]
