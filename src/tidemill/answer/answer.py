"""Step 5: cells + closed windows ⇒ answer rows of a bucket.

Questions are put together in forms, what they read in bundles of cells. Every form is worked
out over every bundle, and every query is handed its windows' rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tidemill.aggregates import Lane
from tidemill.answer.asked import Asked, evaluations
from tidemill.answer.evaluating import Evaluating
from tidemill.answer.forms import Form, forms
from tidemill.answer.handing import Answers, handed_out
from tidemill.answer.slots import Source
from tidemill.plan.predicates import Reading
from tidemill.plan.query import Key
from tidemill.state.cells import Cells, narrow
from tidemill.state.layouts.bundles import Spans, bundles
from tidemill.state.sketched.rows import Reader, set_apart
from tidemill.state.synopsis import Synopsis

# Rows of cells taken out for readings at a time; those of a routed synopsis never are more.
MOST_READ = 2**21


def answer(synopsis: Synopsis, cells: Cells, asked: Sequence[Asked]) -> list[Answers]:
    """The answers of a bucket to each sheet of questions, in their order."""
    working = [_Working(form) for form in forms(asked)]
    readings = list(dict.fromkeys(r for one in working for r in one.wanted.readings))
    cells, sketches = set_apart(synopsis.lanes, cells)
    for batch in _batches(cells, readings):
        _work_out(synopsis, narrow(cells, batch), batch, working, sketches)
    results = {
        place: answers for one in working for place, answers in handed_out(one.form, one.found)
    }
    return [results[place] for place in range(len(asked))]


class _Working:
    """A form and how far it is worked out."""

    def __init__(self, form: Form) -> None:
        self.form, self.wanted = form, evaluations(form.asked)
        self.found = Evaluating(self.wanted, form.asked.wants_rows)

    def spans(self, cells: Cells, numbers: Mapping[Reading, int]) -> Spans:
        wanted = self.wanted
        number = np.array([numbers.get(reading, -1) for reading in wanted.readings])
        return Spans.of(cells, number[wanted.reading], wanted.starts, wanted.ends)


def _batches(cells: Cells, readings: Sequence[Reading]) -> Iterator[list[Reading]]:
    """Readings that have up to `MOST_READ` rows between them, or as many as there are cells."""
    by_signature = np.bincount(cells.signature, minlength=len(cells.signatures))
    most, batch, rows = max(MOST_READ, len(cells)), list[Reading](), 0
    for reading in readings:
        own = int(by_signature[reading.matches(cells.signatures)].sum())
        if batch and rows + own > most:
            yield batch
            batch, rows = [], 0
        batch, rows = [*batch, reading], rows + own
    if batch:
        yield batch


def _work_out(
    synopsis: Synopsis,
    cells: Cells,
    readings: Sequence[Reading],
    working: Sequence[_Working],
    sketches: Mapping[Lane, Reader],
) -> None:
    numbers = {reading: number for number, reading in enumerate(readings)}
    spans = [one.spans(cells, numbers) for one in working]
    sources: dict[tuple[Key, ...], Source] = {}
    for bundle in bundles(synopsis.lanes, cells, _joined(spans), sketches):
        for one, own in zip(working, spans, strict=True):
            keys = one.wanted.sheet.shape.keys
            if keys not in sources:
                sources[keys] = Source(synopsis, cells, keys)
            naming = bundle.naming(own)
            for block in bundle.laid.blocks(*bundle.bounds(own)):
                one.found.block(sources[keys], block, naming)


def _joined(spans: Sequence[Spans]) -> Spans:
    return Spans(
        np.concatenate([own.reading for own in spans]),
        np.concatenate([own.lo for own in spans]),
        np.concatenate([own.hi for own in spans]),
    )
