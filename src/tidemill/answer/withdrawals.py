"""Answers of which a correction leaves nothing: a row for each, so that nobody goes by the old one.

Only HAVING can let nothing through where it let something through before: rows that correct make
groups, and never take one away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.answer.request import WindowRequest
from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.query import AS_OF, REVISION, WINDOW_END, WINDOW_START, WITHDRAWN, QueryPlan
from tidemill.schedule import Bounds, Revisions


@dataclass(frozen=True)
class ClosedAnswers:
    """What a tick has delivered of closed windows of a query: those with rows, and those of which
    nothing is left that was there."""

    with_rows: frozenset[Bounds] = frozenset()
    withdrawn: frozenset[Bounds] = frozenset()

    def __add__(self, other: ClosedAnswers) -> ClosedAnswers:
        return ClosedAnswers(self.with_rows | other.with_rows, self.withdrawn | other.withdrawn)


def withdraw(
    request: WindowRequest, number: int, rows: pa.Table, revisions: Revisions
) -> tuple[ClosedAnswers, list[tuple[Bounds, int]]]:
    """The outcome for a query of a request, which has these rows, and the windows to withdraw,
    each with the number of the revision."""
    is_own = request.owner == number
    is_early = is_own & (request.read_until < request.ends)
    is_revised = is_own & (request.revision_of > 0)
    with_rows = _windows_of(rows) - {*_windows(request, is_early)}
    lost = [
        (window, revision)
        for window, revision in zip(
            _windows(request, is_revised), request.revision_of[is_revised].tolist(), strict=True
        )
        if window not in with_rows and revisions.had_rows(window)
    ]
    return ClosedAnswers(frozenset(with_rows), frozenset(window for window, _ in lost)), lost


def withdrawn_rows(
    query: QueryPlan, windows: Sequence[tuple[Bounds, int]], schema: pa.Schema
) -> pa.Table:
    """A row for each window: its bounds and the number of the revision, and nothing else."""
    nodes = [WINDOW_START, WINDOW_END, *(output.node for output in query.outputs)]
    ends = [end_us for (_, end_us), _ in windows]
    values = {
        WINDOW_START: [start_us for (start_us, _), _ in windows],
        WINDOW_END: ends,
        AS_OF: ends,
        REVISION: [number for _, number in windows],
        WITHDRAWN: [True] * len(windows),
    }
    columns = [
        pa.array(values[node]).cast(field.type)
        if node in values and windows
        else pa.nulls(len(windows), field.type)
        for node, field in zip(nodes, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)


def _windows(request: WindowRequest, chosen: BoolArray) -> list[Bounds]:
    return list(zip(request.starts[chosen].tolist(), request.ends[chosen].tolist(), strict=True))


def _windows_of(rows: pa.Table) -> set[Bounds]:
    """The windows that have rows in a table of answers."""
    bounds = np.stack([_times(rows, place) for place in (0, 1)])
    # Rows of a window mostly follow one another.
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (bounds[:, 1:] != bounds[:, :-1]).any(axis=0)
    return set(zip(*bounds[:, is_first].tolist(), strict=True))


def _times(rows: pa.Table, place: int) -> IntArray:
    return np.asarray(rows.column(place).cast(pa.int64()).to_numpy())
