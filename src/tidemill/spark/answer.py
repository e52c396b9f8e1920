"""Step 5 in Spark: tasks that answer buckets are done here, in threads or as one job."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain

from pyspark.sql import SparkSession

from tidemill.answer.task import AnswerTask, TaskResult, run_task

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
