"""The answers of joins of windows, of the cells of all sides.

Blocks of the join are evaluated as those of windows of one stream are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tidemill.answer.answering import MOST_READ, Evaluation
from tidemill.answer.joined.inputs import JoinedLanes, SideCells, SideWindows
from tidemill.answer.joined.joined import JoinedChunk, joined_chunks
from tidemill.answer.joined.looks import Looks, looks_of
from tidemill.answer.joined.synopsis import JoinedSynopsis
from tidemill.answer.joint import JointReading
from tidemill.answer.request import WindowRequest, answer_requests
from tidemill.answer.rows import BucketAnswers
from tidemill.answer.slots import GroupKeys
from tidemill.arrays import IntArray
from tidemill.state.cells import Cells, narrow, which_read
from tidemill.state.layouts.bundles import Naming


def answer_joined(
    joined: JoinedSynopsis, sides: Sequence[Cells | None], requests: Sequence[WindowRequest]
) -> list[BucketAnswers]:
    """The answers to each window request, in their order."""
    evaluations = [Evaluation(request) for request in answer_requests(requests)]
    looks, look_of = looks_of([each.evaluations for each in evaluations])
    lanes = JoinedLanes(
        tuple(key.slot.type for key in joined.synopsis.keys), joined.synopsis.lanes, joined.lanes
    )
    for batch in _batches(looks, sides):
        number = np.full(len(looks), -1)
        number[batch] = np.arange(len(batch))
        seen = [_seen(joined, side, cells, looks.at(batch)) for side, cells in enumerate(sides)]
        sides_seen, windows = zip(*seen, strict=True)
        for chunk in joined_chunks(joined.join, lanes, sides_seen, windows):
            for evaluation, look in zip(evaluations, look_of, strict=True):
                _evaluate(joined, evaluation, chunk, number[look])
    answers = dict(pair for evaluation in evaluations for pair in evaluation.split())
    return [answers[place] for place in range(len(requests))]


def _batches(looks: Looks, sides: Sequence[Cells | None]) -> Iterator[IntArray]:
    """Looks whose readings have up to `MOST_READ` cells between them, or as many as there are."""
    most = max(MOST_READ, sum(len(cells) for cells in sides if cells is not None))
    sizes = _sizes(looks, sides)
    seen, size, numbers = set[tuple[int, JointReading]](), 0, list[int]()
    for number, reading in enumerate(looks.readings):
        of_sides = set(enumerate(reading.sides))
        more = sum(sizes[index] for index in of_sides - seen)
        if numbers and size + more > most:
            yield looks.of_readings(numbers)
            seen, size, numbers = set(), 0, []
            more = sum(sizes[index] for index in of_sides)
        seen |= of_sides
        size += more
        numbers.append(number)
    if numbers:
        yield looks.of_readings(numbers)


def _sizes(looks: Looks, sides: Sequence[Cells | None]) -> dict[tuple[int, JointReading], int]:
    """By side and what is read of it, the number of cells."""
    sizes: dict[tuple[int, JointReading], int] = {}
    for side, cells in enumerate(sides):
        readings = {reading.sides[side] for reading in looks.readings}
        if cells is None:
            sizes |= {(side, reading): 0 for reading in readings}
            continue
        count = np.bincount(cells.signature, minlength=len(cells.signatures))
        for reading in readings:
            sizes[side, reading] = int(count[reading.matches(cells.signatures)].sum())
    return sizes


def _evaluate(
    joined: JoinedSynopsis, evaluation: Evaluation, chunk: JoinedChunk, look: IntArray
) -> None:
    """An evaluation over a chunk; `look` has by window of its own where it looks."""
    groups = GroupKeys(joined.synopsis, chunk.cells, evaluation.keys)
    naming = Naming(np.arange(chunk.cells.groups.num_rows + 1), np.zeros_like(look))
    for block in chunk.blocks(look):
        evaluation.evaluator.evaluate(groups, block, naming)


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
    distinct = tuple(numbers)
    picked = narrow(cells, distinct, which_read(distinct, cells.signatures))
    return SideCells(picked, synopsis.lanes), windows
