"""The answers of joins of windows, of the cells of all sides.

The cells of the join at each look are those of a slice, so the rest is as for windows of one
stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tidemill.aggregates import Lane
from tidemill.answer.answering import Evaluation, evaluate_bundles
from tidemill.answer.joined.inputs import JoinedLanes, SideCells, SideWindows
from tidemill.answer.joined.joined import joined_cells
from tidemill.answer.joined.looks import Looks, looks_of
from tidemill.answer.joined.synopsis import JoinedSynopsis
from tidemill.answer.joint import JointReading
from tidemill.answer.request import WindowRequest, answer_requests
from tidemill.answer.rows import BucketAnswers
from tidemill.arrays import IntArray
from tidemill.state.cells import Cells, narrow
from tidemill.state.layouts.bundles import Spans
from tidemill.state.sketched.rows import Reader, set_apart


def answer_joined(
    joined: JoinedSynopsis, sides: Sequence[Cells | None], requests: Sequence[WindowRequest]
) -> list[BucketAnswers]:
    """The answers to each window request, in their order."""
    evaluations = [Evaluation(request) for request in answer_requests(requests)]
    looks, look_of = looks_of([each.evaluations for each in evaluations])
    seen = [_seen(joined, side, cells, looks) for side, cells in enumerate(sides)]
    lanes = JoinedLanes(
        tuple(key.slot.type for key in joined.synopsis.keys), joined.synopsis.lanes, joined.lanes
    )
    for cells in joined_cells(joined.join, lanes, *map(list, zip(*seen, strict=True))):
        sketches: Mapping[Lane, Reader] = {}
        if any(lane.is_sketch for lane in joined.synopsis.lanes):
            cells, sketches = set_apart(joined.synopsis.lanes, cells)
        spans = [_spans(cells.slices, look) for look in look_of]
        evaluate_bundles(joined.synopsis, cells, evaluations, spans, sketches)
    answers = dict(pair for evaluation in evaluations for pair in evaluation.split())
    return [answers[place] for place in range(len(requests))]


def _seen(
    joined: JoinedSynopsis, side: int, cells: Cells | None, looks: Looks
) -> tuple[SideCells, SideWindows]:
    """The cells of a side by number of what is read of it, and its window at each look."""
    synopsis = joined.sides[side].synopsis
    numbers: dict[JointReading, int] = {}
    readings = [reading.sides[side] for reading in looks.readings]
    number = np.array([numbers.setdefault(reading, len(numbers)) for reading in readings])
    ranges_us = np.array([reading.ranges_us[side] for reading in looks.readings])
    starts_us = looks.ends - ranges_us[looks.reading]
    windows = SideWindows(number[looks.reading], starts_us, looks.ends)
    if cells is None:
        windows = SideWindows(np.full(len(looks), -1), starts_us, looks.ends)
        return SideCells.without_rows(synopsis.lanes, len(synopsis.keys)), windows
    return SideCells(narrow(cells, tuple(numbers)), synopsis.lanes), windows


def _spans(seen: IntArray, look: IntArray) -> Spans:
    """Where the windows at some looks lie among cells of those that are seen; else nowhere."""
    place = np.searchsorted(seen, look)
    is_here = (place < len(seen)) & (seen[np.minimum(place, len(seen) - 1)] == look)
    low = np.where(is_here, place, 0)
    return Spans(np.zeros_like(low), low, low + is_here)
