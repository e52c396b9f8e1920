"""The cells of a bucket, and what is asked of them ⇒ answers.

cells ⇒ bundles of readings ⇒ blocks of windows and groups ⇒ answers by request
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tidemill.aggregates import Lane
from tidemill.answer.evaluate import Evaluator
from tidemill.answer.request import AnswerRequest, Evaluations, WindowRequest, answer_requests
from tidemill.answer.rows import BucketAnswers, split_by_query
from tidemill.answer.slots import GroupKeys
from tidemill.arrays import BoolArray
from tidemill.plan.predicates import AnyReading
from tidemill.plan.query import Key
from tidemill.state.cells import Cells, narrow, which_read
from tidemill.state.layouts.bundles import Spans, bundles
from tidemill.state.sketched.rows import Reader, set_apart
from tidemill.state.synopsis import Synopsis

# Rows of cells taken out for readings at a time; those of a routed synopsis never are more.
MOST_READ = 2**21


def answer(
    synopsis: Synopsis, cells: Cells | None, requests: Sequence[WindowRequest]
) -> list[BucketAnswers]:
    """The answers of a bucket's cells to each window request, in their order."""
    filled = [request.filled(cells) for request in requests]
    evaluations = [Evaluation(request) for request in answer_requests([r for r, _ in filled])]
    if cells is not None:
        _evaluate_all(synopsis, cells, evaluations)
    for evaluation in evaluations:
        evaluation.evaluator.evaluate_empty()
    answers = dict(pair for evaluation in evaluations for pair in evaluation.split())
    return [replace(answers[place], gaps=gaps) for place, (_, gaps) in enumerate(filled)]


def _evaluate_all(synopsis: Synopsis, cells: Cells, evaluations: Sequence[Evaluation]) -> None:
    readings = list(dict.fromkeys(r for e in evaluations for r in e.evaluations.due_readings))
    sketches: Mapping[Lane, Reader] = {}
    if any(lane.is_sketch for lane in synopsis.lanes):
        cells, sketches = set_apart(synopsis.lanes, cells)
    is_read = which_read(readings, cells.signatures)
    for run in _reading_batches(cells, is_read):
        numbers = {reading: number for number, reading in enumerate(readings[run])}
        spans = [evaluation.spans(cells, numbers) for evaluation in evaluations]
        picked = narrow(cells, readings[run], is_read[run])
        evaluate_bundles(synopsis, picked, evaluations, spans, sketches)


class Evaluation:
    """An answer request and its evaluator."""

    def __init__(self, request: AnswerRequest) -> None:
        self._request, self.evaluations = request, Evaluations.of(request.windows)
        self.evaluator = Evaluator(self.evaluations)

    @property
    def keys(self) -> tuple[Key, ...]:
        return self.evaluations.batch.shape.keys

    def spans(self, cells: Cells, numbers: Mapping[AnyReading, int]) -> Spans:
        windows = self.evaluations
        number = np.array([numbers.get(reading, -1) for reading in windows.readings])
        return Spans.of(cells, number[windows.reading], windows.starts, windows.untils)

    def split(self) -> Iterator[tuple[int, BucketAnswers]]:
        return split_by_query(self._request, self.evaluations, self.evaluator.result())


def _reading_batches(cells: Cells, is_read: BoolArray) -> Iterator[slice]:
    """Runs of readings that have up to `MOST_READ` rows between them, or as many as all cells."""
    by_signature = np.bincount(cells.signature, minlength=len(cells.signatures))
    most, first, batch_rows = max(MOST_READ, len(cells)), 0, 0
    for place, rows in enumerate((is_read @ by_signature).tolist()):
        if place > first and batch_rows + rows > most:
            yield slice(first, place)
            first, batch_rows = place, 0
        batch_rows += rows
    if len(is_read):
        yield slice(first, len(is_read))


def evaluate_bundles(
    synopsis: Synopsis,
    cells: Cells,
    evaluations: Sequence[Evaluation],
    spans: Sequence[Spans],
    sketches: Mapping[Lane, Reader],
) -> None:
    """Every evaluation over every bundle of the cells; `spans` say where its windows lie there."""
    groups: dict[tuple[Key, ...], GroupKeys] = {}
    for bundle in bundles(synopsis.lanes, cells, _joined_spans(spans), sketches):
        for evaluation, windows in zip(evaluations, spans, strict=True):
            keys = evaluation.keys
            if keys not in groups:
                groups[keys] = GroupKeys(synopsis, cells, keys)
            naming = bundle.naming(windows)
            for block in bundle.laid.blocks(*bundle.bounds(windows)):
                evaluation.evaluator.evaluate(groups[keys], block, naming)


def _joined_spans(spans: Sequence[Spans]) -> Spans:
    return Spans(
        np.concatenate([span.reading for span in spans]),
        np.concatenate([span.lo for span in spans]),
        np.concatenate([span.hi for span in spans]),
    )
