"""Closed windows that rows of a tick have touched: they are due again, as their next revision.

A row that is older than the watermark, but by no more than the stream may correct, lies in windows
that have closed. Which windows it touches is told by the slices of the tick's own pieces, by the
signatures that each query reads: so a query answers nothing again for the sake of rows that it
leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tidemill.arrays import IntArray
from tidemill.engine.tick.bases import Basis, Registers, Versions, least_final_us, register_of
from tidemill.engine.tick.journal import QueryState
from tidemill.engine.tick.stints import JointStint
from tidemill.language.names import Name
from tidemill.plan.predicates import Reading
from tidemill.plan.query import QueryPlan
from tidemill.scan.contract import Pieces
from tidemill.schedule import Due, Revisions, due_windows
from tidemill.share import SharedPlan
from tidemill.state.pieces import signed_slices
from tidemill.windows import BEGINNING_US


@dataclass(frozen=True)
class Closed:
    """The windows that may be corrected: those that have ended by the watermark, and not so long
    ago that they are answered for good, and of which the store has all slices."""

    until_us: int
    after_us: int | None
    complete_from_us: int


class Corrector:
    """Finds the windows of a basis that are answered again."""

    def __init__(
        self, folder: Path, plan: SharedPlan, basis: Basis, paused: frozenset[str]
    ) -> None:
        self._folder, self._basis = folder, basis
        self._synopses = [plan.synopsis(key) for key in basis.synopses]
        by_readings: dict[tuple[Reading, ...], list[tuple[QueryPlan, JointStint]]] = {}
        for query, stint in basis.strict:
            if query.revises and Name(query.name) not in paused:
                by_readings.setdefault(stint.readings, []).append((query, stint))
        groups = {key: basis.of_readers(tuple(group)) for key, group in by_readings.items()}
        self._groups = {key: (group, group.askers(paused)) for key, group in groups.items()}

    def due(
        self,
        pieces: Pieces,
        before: Registers,
        versions: Versions,
        finals: Mapping[Name, int | None],
        states: Mapping[str, QueryState],
    ) -> Iterator[Due]:
        """The windows closed before that rows in these pieces have touched."""
        if not self._groups:
            return
        until_us = register_of(self._basis.sources, before).watermark_us
        if until_us is None:
            return
        closed = self._closed(until_us, versions, finals)
        parts = [
            signed_slices(
                self._folder / synopsis.id, synopsis, pieces.get(synopsis.id, ()), until_us
            )
            for synopsis in self._synopses
        ]
        if not any(len(slices) for slices, _ in parts):
            return
        for readings, (group, askers) in self._groups.items():
            touched = [
                slices[reading.matches(signatures)]
                for reading, (slices, signatures) in zip(readings, parts, strict=True)
            ]
            slices: IntArray = np.unique(np.concatenate(touched))
            runs = due_windows(group.specs, slices, closed.after_us, until_us)
            for asker in askers:
                for run in asker.due(runs[asker.number]):
                    yield from _revised(run, closed, states)

    def _closed(
        self, until_us: int, versions: Versions, finals: Mapping[Name, int | None]
    ) -> Closed:
        basis = self._basis
        complete_from = [
            versions[source].complete_from.get(key, BEGINNING_US)
            for key, source in zip(basis.synopses, basis.sources, strict=True)
        ]
        return Closed(until_us, least_final_us(basis.sources, finals), max(complete_from))


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
