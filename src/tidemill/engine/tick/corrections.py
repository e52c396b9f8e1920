"""Corrections: closed windows that rows of a tick have touched, and what has become of answers.

A row that is older than the watermark, but by no more than the stream may correct, lies in windows
that have closed. These are due again, with the number of their revision. Which windows a row
touches is told by the slices of the tick's own pieces, by the signatures that each query reads: so
a query answers nothing again for the sake of rows that it leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tidemill.answer.withdrawals import ClosedAnswers
from tidemill.engine.tick.journal import Decision, QueryState, TickRecord
from tidemill.language.names import Name
from tidemill.plan.predicates import Reading
from tidemill.plan.query import QueryPlan
from tidemill.schedule import Bounds, Due, LastAnswer, Revisions, Specs, due_windows
from tidemill.schedule.askers import Asker, StintReaders, askers_of, distinct_specs
from tidemill.share import Stint
from tidemill.state.pieces import Piece, signed_slices
from tidemill.state.synopsis import Synopsis
from tidemill.windows import BEGINNING_US


@dataclass(frozen=True)
class Closed:
    """The windows that may be corrected: those that have ended by the watermark, and not so long
    ago that they are answered for good, and of which the store has all slices."""

    until_us: int
    after_us: int | None
    complete_from_us: int


class Corrector:
    """Finds the windows of a synopsis that are answered again."""

    def __init__(
        self, folder: Path, synopsis: Synopsis, readers: StintReaders, paused: frozenset[str]
    ) -> None:
        self._folder, self._synopsis = folder / synopsis.id, synopsis
        by_reading: dict[Reading, list[tuple[QueryPlan, Stint]]] = {}
        for query, stint in readers:
            if query.revises and Name(query.name) not in paused:
                by_reading.setdefault(stint.reading, []).append((query, stint))
        self._askers: dict[Reading, tuple[Specs, tuple[Asker, ...]]] = {}
        for reading, group in by_reading.items():
            specs = distinct_specs(group)
            self._askers[reading] = specs, askers_of(synopsis.id, group, specs, paused)

    def due(
        self, pieces: Sequence[Piece], closed: Closed, states: Mapping[str, QueryState]
    ) -> Iterator[Due]:
        """The windows that rows in these pieces have touched."""
        if not self._askers:
            return
        slices, signatures = signed_slices(self._folder, self._synopsis, pieces, closed.until_us)
        for reading, (specs, askers) in self._askers.items() if len(slices) else ():
            touched = np.unique(slices[reading.matches(signatures)])
            runs = due_windows(specs, touched, closed.after_us, closed.until_us)
            for asker in askers:
                for run in asker.due(runs[asker.number]):
                    yield from _revised(run, closed, states)


def _revised(run: Due, closed: Closed, states: Mapping[str, QueryState]) -> Iterator[Due]:
    """The windows of a run that have been answered and are whole, for those queries together that
    have answered each of them as often."""
    queries: dict[tuple[Due, ...], list[str]] = {}
    for query in run.queries:
        revisions = states.get(query, QueryState()).revisions
        queries.setdefault(tuple(_numbered(run, closed, revisions)), []).append(query)
    for runs, names in queries.items():
        for revised in runs:
            yield revised._replace(queries=tuple(names))


def _numbered(run: Due, closed: Closed, revisions: Revisions) -> Iterator[Due]:
    """The windows of a run that have been answered and are whole, each with its number."""
    numbers = list[int]()
    for place, (start_us, end_us) in enumerate((*run.spans(), (0, BEGINNING_US))):
        if start_us >= closed.complete_from_us and revisions.was_answered(end_us):
            numbers.append(revisions.next_number((start_us, end_us)))
        elif numbers:
            first_us = run.first_us + (place - len(numbers)) * run.slide_us
            yield run._replace(first_us=first_us, windows=len(numbers), revisions=tuple(numbers))
            numbers = []


@dataclass(frozen=True)
class Review:
    """A tick as it bears on revisions: its decision, and what has become of it by query."""

    record: TickRecord
    decision: Decision
    final_us: int | None  # windows that end by then are answered for good
    outcomes: Mapping[str, ClosedAnswers]

    def revisions_after(
        self,
        queries: Iterable[QueryPlan],
        states: Mapping[str, QueryState],
        paused: frozenset[str],
    ) -> dict[str, Revisions]:
        """The revisions of the queries for which the tick has changed something."""
        numbers: dict[str, dict[Bounds, int]] = {}
        for run in self.decision.due:
            if run.revisions:
                by_window = dict(zip(run.spans(), run.revisions, strict=True))
                for query in run.queries:
                    numbers.setdefault(query, {}).update(by_window)
        changed = {}
        for plan in queries:
            before = states[plan.name].revisions
            of_query = numbers.get(plan.name, {})
            after = self._after(plan, before.unchanged(), of_query, Name(plan.name) in paused)
            if after != before:
                changed[plan.name] = after
        return changed

    def _after(
        self, query: QueryPlan, before: Revisions, numbers: Mapping[Bounds, int], is_paused: bool
    ) -> Revisions:
        was_us = self.record.time.watermark_us
        after_us = BEGINNING_US if was_us is None else was_us
        until_us = self.decision.time.watermark_us
        revisions = before.begun(after_us)
        if is_paused and until_us is not None:
            revisions = revisions.paused(after_us, until_us)
        answers = self._answers(query, numbers)
        return revisions.answered(answers).forgotten(self.final_us)

    def _answers(self, query: QueryPlan, numbers: Mapping[Bounds, int]) -> dict[Bounds, LastAnswer]:
        """Of a query that never withdraws all that is answered again has rows."""
        if not query.may_withdraw:
            return {window: LastAnswer(number, True) for window, number in numbers.items()}
        outcome = self.outcomes.get(query.name, ClosedAnswers())
        answers = {w: LastAnswer(numbers.get(w, 0), True) for w in outcome.with_rows}
        return answers | {w: LastAnswer(numbers[w], False) for w in outcome.withdrawn}
