"""Step 5: cells + closed windows ⇒ answer rows of a bucket.

Questions are grouped by what they read, windows combined and finished sheet by sheet, and
every query is handed its windows' rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.operators.asked import Asked, Evaluations, evaluations
from tidemill.operators.evaluating import Evaluating
from tidemill.operators.rows import bound_columns, row_schema
from tidemill.operators.slots import Source
from tidemill.plan.model import Key
from tidemill.plan.predicates import Reading
from tidemill.synopsis.cells import Cells, narrow
from tidemill.synopsis.combine import LaidOut, lay_out
from tidemill.synopsis.lanes import Lane
from tidemill.synopsis.model import Synopsis
from tidemill.windows import slice_ranges

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Answers:
    """What a bucket answers to the queries of a sheet.

    `rows` has window bounds, outputs and hidden columns (`operators.rows`), query after
    query; it is None when they were only to be counted. Of an ordered sheet the rows say
    themselves where they raised, since not all of them will be delivered.
    """

    counts: IntArray  # by query
    raised: IntArray  # by query
    rows: pa.Table | None


def answer(synopsis: Synopsis, cells: Cells, asked: Sequence[Asked]) -> list[Answers]:
    """The answers of a bucket to each sheet of questions, in their order."""
    results: dict[int, Answers] = {}
    for reading, places in _by_reading(asked).items():
        mine = narrow(synopsis.lanes, cells, reading)
        answers = _answer_reading(synopsis, mine, [asked[place] for place in places])
        results.update(zip(places, answers, strict=True))
    return [results[place] for place in range(len(asked))]


def _by_reading(asked: Sequence[Asked]) -> dict[Reading, list[int]]:
    readings: dict[Reading, list[int]] = {}
    for place, one in enumerate(asked):
        readings.setdefault(one.reading, []).append(place)
    return readings


def _answer_reading(synopsis: Synopsis, cells: Cells, asked: Sequence[Asked]) -> list[Answers]:
    wanted = [evaluations(one) for one in asked]
    runs = [slice_ranges(one.starts, one.ends, cells.slices) for one in wanted]
    lo, hi = (np.concatenate(bounds) for bounds in zip(*runs, strict=True))
    laid = _laid_out(synopsis, cells, lo, hi)
    sources: dict[tuple[Key, ...], Source] = {}
    answers = []
    for question, one, run in zip(asked, wanted, runs, strict=True):
        keys = one.sheet.shape.keys
        source = sources.setdefault(keys, Source(synopsis, cells, keys))
        evaluating = Evaluating(source, one, question.wants_rows)
        for block in laid.blocks(*run):
            evaluating.block(block)
        answers.append(_handed_out(one, evaluating, question.wants_rows))
    return answers


def _laid_out(synopsis: Synopsis, cells: Cells, lo: IntArray, hi: IntArray) -> LaidOut:
    groups = cells.group_count
    lanes = [
        Lane(encoded.values, lane.algebra, encoded.valid)
        for lane, encoded in zip(synopsis.lanes, cells.lanes, strict=True)
    ]
    return lay_out(cells.slice_index, cells.group, groups, len(cells.slices), lo, hi, lanes)


def _handed_out(wanted: Evaluations, found: Evaluating, wants_rows: bool) -> Answers:
    """Every window's rows to its owner."""
    sheet, behind = wanted.sheet, wanted.of_window
    lengths = np.minimum(found.counts[behind], sheet.limits[wanted.owner])
    counts, raised = (
        np.bincount(wanted.owner, weights=values, minlength=len(sheet)).astype(np.int64)
        for values in (lengths, found.raised[behind])
    )
    if not wants_rows:
        return Answers(counts, raised, None)
    first = (np.cumsum(found.counts) - found.counts)[behind]
    places = np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
    places += np.arange(len(places))
    bounds = (wanted.owner, wanted.starts[behind], wanted.ends[behind])
    rows = bound_columns(*(np.repeat(column, lengths) for column in bounds))
    columns = pa.concat_tables([row_schema(sheet.shape).empty_table(), *found.parts])
    for name, column in zip(
        columns.column_names, columns.take(pa.array(places)).columns, strict=True
    ):
        rows = rows.append_column(name, column)
    return Answers(counts, raised, rows)
