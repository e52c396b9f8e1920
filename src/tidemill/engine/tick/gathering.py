"""What the buckets of a synopsis have found, put together by question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tidemill.answer.by_spark import finish
from tidemill.answer.rows import Together, together
from tidemill.answer.shapes import finishes_here
from tidemill.answer.task import Part, Question, TaskResult
from tidemill.plan.query import QueryPlan
from tidemill.spark.finishing import finish_by_spark
from tidemill.spark.session import Session


def by_question(results: Sequence[TaskResult]) -> Iterator[tuple[Question, list[Part]]]:
    """Every question with its parts from all buckets of its synopsis."""
    buckets: dict[str, list[TaskResult]] = {}
    for result in results:
        buckets.setdefault(result.synopsis_id, []).append(result)
    for mine in buckets.values():
        for number, question in enumerate(mine[0].questions):
            yield question, [result.parts[number] for result in mine]


def gathered(
    session: Callable[[], Session], plan: QueryPlan, question: Question, parts: Sequence[Part]
) -> Together:
    """Rows that were carried: ordered, cut, and finished by Spark where need be.

    The plan is that of any of the queries; one that Spark finishes is asked for alone.
    """
    found = together(question.asked.sheet, [part.rows for part in parts if part.rows is not None])
    if finishes_here(plan):
        return found
    rows, raised = finish(plan, found.rows, finish_by_spark(session(), plan, found.rows))
    return Together(rows, np.array([len(rows)]), np.array([raised]))
