"""Step 5 of a tick: the tasks that answer windows, here, in threads or as one Spark job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from tidemill.answer.task import AnswerTask, TaskResult, run_task
from tidemill.spark.jobs import (
    GetSession,
    Workplace,
    WorkSize,
    balanced,
    cores,
    in_job,
    in_threads,
    workplace_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_answers(session: GetSession, tasks: Sequence[AnswerTask]) -> list[TaskResult]:
    """Every task once; results in the order of the tasks. Small work is done without Spark."""
    work_ns = sum(task.work_ns for task in tasks)
    place = workplace_of(WorkSize(answer_ns=work_ns, is_one_task=len(tasks) == 1))
    if place is Workplace.JOB:
        results = _run_there(session(), tasks)
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
