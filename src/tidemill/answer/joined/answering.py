"""The answers of joins of windows, of the cells of all sides.

The cells of the join at each look are those of a slice, so the rest is as for windows of one
stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tidemill.aggregates import Lane
from tidemill.answer.answering import Evaluation, evaluate_bundles
from tidemill.answer.joined.kernel import joined_cells
from tidemill.answer.joined.looks import looks_of
from tidemill.answer.joined.synopsis import JoinedSynopsis
from tidemill.answer.request import WindowRequest, answer_requests
from tidemill.answer.rows import BucketAnswers
from tidemill.arrays import IntArray
from tidemill.state.cells import Cells
from tidemill.state.layouts.bundles import Spans
from tidemill.state.sketched.rows import Reader, set_apart


def answer_joined(
    joined: JoinedSynopsis, sides: Sequence[Cells | None], requests: Sequence[WindowRequest]
) -> list[BucketAnswers]:
    """The answers to each window request, in their order."""
    evaluations = [Evaluation(request) for request in answer_requests(requests)]
    looks, look_of = looks_of([each.evaluations for each in evaluations])
    for seen, cells in joined_cells(joined, sides, looks):
        sketches: Mapping[Lane, Reader] = {}
        if any(lane.is_sketch for lane in joined.synopsis.lanes):
            cells, sketches = set_apart(joined.synopsis.lanes, cells)
        spans = [_spans(seen, look) for look in look_of]
        evaluate_bundles(joined.synopsis, cells, evaluations, spans, sketches)
    answers = dict(pair for evaluation in evaluations for pair in evaluation.split())
    return [answers[place] for place in range(len(requests))]


def _spans(seen: IntArray, look: IntArray) -> Spans:
    """Where the windows of some looks lie among cells with a slice for each that is seen; of the
    others, nowhere."""
    place = np.searchsorted(seen, look)
    is_here = (place < len(seen)) & (seen[np.minimum(place, len(seen) - 1)] == look)
    low = np.where(is_here, place, 0)
    return Spans(np.zeros_like(low), low, low + is_here)
