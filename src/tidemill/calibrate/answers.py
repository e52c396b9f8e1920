"""Windows answered over cells that are at hand."""

from __future__ import annotations

import numpy as np

from tidemill.answer.answering import answer
from tidemill.answer.request import QueryBatch, WindowRequest
from tidemill.answer.shapes import lift
from tidemill.arrays import IntArray
from tidemill.calibrate.fitting import Action
from tidemill.plan.query import QueryPlan
from tidemill.state.cells import Cells
from tidemill.state.synopsis import Synopsis

_SECOND_US = 1_000_000


def answering(
    synopsis: Synopsis, cells: Cells, query_plan: QueryPlan, starts: IntArray, length: int
) -> Action:
    """The work of answering windows of so many slices, which are a second each."""
    # Equal windows would be worked out once.
    assert len(np.unique(starts)) == len(starts)
    batch = QueryBatch.of([lift(query_plan)], is_named=True)
    bounds = starts * _SECOND_US, (starts + length) * _SECOND_US
    requests = [WindowRequest(batch, np.zeros(len(starts), np.int64), *bounds)]
    return lambda: answer(synopsis, cells, requests)
