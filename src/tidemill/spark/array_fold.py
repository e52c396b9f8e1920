"""A tick's files folded on arrays: here in threads, or in one Spark job, no shuffle."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from tidemill.aggregates.user import take_told
from tidemill.scan.arrays.files import UNREADABLE, Part, read_batches, split
from tidemill.scan.arrays.footers import count_by_footers
from tidemill.scan.arrays.program import Program
from tidemill.scan.arrays.scan import FeedParts, Scanned, in_total, scan
from tidemill.scan.contract import Arrival, FoldPlace, FoldReport, Terms, TimeSpans, join_spans
from tidemill.scan.routes import COLUMNAR
from tidemill.spark.jobs import (
    MOST_SCANNING_THREADS,
    SparkAccess,
    Workplace,
    cores,
    in_job,
    in_threads,
    picking_work,
    scan_work,
)
from tidemill.state.fold import fold_feed
from tidemill.state.pieces import Piece

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class ArrayReport:
    """The report of a fold on arrays, the spans of the timely rows and of those that correct, by
    arrival, the parts of the input in which it refused rows, and the terms by which it judged."""

    fold: FoldReport
    terms: Terms
    spans: TimeSpans = field(default_factory=dict)
    correcting: TimeSpans = field(default_factory=dict)
    refused_in: tuple[Part, ...] = ()

    def joined(self, other: ArrayReport) -> ArrayReport:
        """With what another task did."""
        return ArrayReport(
            self.fold.joined(other.fold),
            self.terms,
            join_spans(self.spans, other.spans),
            join_spans(self.correcting, other.correcting),
            self.refused_in + other.refused_in,
        )


@dataclass(frozen=True)
class ArrayFold:
    """One tick's work, whoever does it."""

    program: Program
    terms: Terms
    place: FoldPlace

    def scan(self, parts: Sequence[Part]) -> list[Scanned]:
        """Accounts, cells and rows of some parts of the files, batch by batch."""
        counted: list[Scanned] = []
        if not self.program.reads_rows:
            counted, parts = count_by_footers(parts, self.terms)
        return [*counted, *scan(self.program, read_batches(self.program, parts), self.terms)]

    def settled(self, arrivals: Sequence[Arrival], spans: Iterable[TimeSpans]) -> ArrayFold:
        """With the bounds of all arrivals, by the spans of the rows that a scan found timely:
        rows that correct are too old to move a bound."""
        total: TimeSpans = {}
        for of_batch in spans:
            total = join_spans(total, of_batch)
        newest_us = {arrival: span.newest_us for arrival, span in total.items()}
        return replace(self, terms=self.terms.settled(arrivals, newest_us))

    def fold(self, scanned: Scanned, most_threads: int = 1) -> ArrayReport:
        """Write the pieces of all cells, a feed in a thread."""
        started = time.perf_counter()
        self.place.failpoint.reach("partials", self.place.tick)
        folded = in_threads(self._fold_feed, scanned.of_feeds(self.program), most_threads)
        pieces = self.place.write_rows(scanned.picked)
        for _, of_feed in folded:
            pieces |= of_feed
        self.place.failpoint.reach("fold", self.place.tick)
        report = FoldReport(
            pieces=pieces,
            rows=scanned.rows,
            oldest_us=scanned.oldest_us,
            newest_us=scanned.newest_us,
            raised=scanned.raised_by_expression(),
            raised_by_signature=scanned.raised_by_signature,
            raised_in_rows=scanned.raised_in_rows,
            seconds=time.perf_counter() - started,
            partial_rows=sum(cells for cells, _ in folded),
            user_errors=take_told(),
            scanned_by=COLUMNAR,
        )
        spans, refused_in = (scanned.spans, scanned.correcting), tuple(scanned.refused_in)
        return ArrayReport(report, self.terms, *spans, refused_in)

    def _fold_feed(self, parts: FeedParts) -> tuple[int, dict[str, tuple[Piece, ...]]]:
        """How many cells it has, and its pieces by synopsis."""
        cells = parts.cells()
        return len(cells), self.place.write(fold_feed(parts.feed, cells))

    def scan_and_fold(self, parts: Sequence[Part]) -> ArrayReport | None:
        """Pieces of some parts; None if one of them cannot be read here after all."""
        try:
            scanned = self.scan(parts)
        except UNREADABLE:
            return None
        return self.fold(in_total(scanned))


def fold_on_arrays(
    spark: SparkAccess, fold: ArrayFold, parts: Sequence[Part], last_cells: int
) -> ArrayReport | None:
    """Fold the files; None if a part of them cannot be read here after all."""
    rows = sum(part.rows for part in parts)
    work = picking_work(rows)
    if fold.program.groups_rows:
        work = scan_work(rows, last_cells, fold.program.holds_interpreter)
    if spark.workplace_of(work) is Workplace.JOB:
        return _fold_there(spark("a large input"), fold, parts)
    return _fold_here(fold, split(parts, min(MOST_SCANNING_THREADS, cores())))


def _fold_here(fold: ArrayFold, runs: list[tuple[Part, ...]]) -> ArrayReport | None:
    """What was judged wrongly, since the rows before it were somewhere else, is scanned again."""
    parts = list(chain(*runs))
    try:
        outcomes = list(chain(*in_threads(fold.scan, runs, MOST_SCANNING_THREADS)))
        settled = fold.settled(_arrivals(parts), (scanned.spans for scanned in outcomes))
        wrong = _judged_wrongly(outcomes, settled.terms)
        if wrong:
            right = [scanned for scanned in outcomes if wrong.isdisjoint(scanned.scanned_in)]
            again = settled.scan([part for part in parts if part in wrong])
            outcomes = _in_order([*right, *again], parts)
    except UNREADABLE:
        return None
    return settled.fold(in_total(outcomes), cores())


def _in_order(outcomes: Sequence[Scanned], parts: Sequence[Part]) -> list[Scanned]:
    """As the rows have arrived."""
    places = {part: place for place, part in enumerate(parts)}
    return sorted(outcomes, key=lambda scanned: min(places[part] for part in scanned.scanned_in))


def _judged_wrongly(outcomes: Sequence[Scanned], terms: Terms) -> set[Part]:
    """The parts of batches with late rows that passed, and those that share a batch with them."""
    wrong: set[Part] = set()
    for scanned in outcomes:
        if terms.misjudged(scanned.spans, scanned.correcting):
            wrong.update(scanned.scanned_in)
    size = -1
    while len(wrong) > size:
        size = len(wrong)
        for scanned in outcomes:
            if not wrong.isdisjoint(scanned.scanned_in):
                wrong.update(scanned.scanned_in)
    return wrong


def _arrivals(parts: Iterable[Part]) -> list[Arrival]:
    """The arrivals that have parts, in order."""
    return list(dict.fromkeys(part.arrival for part in parts))


def _fold_there(
    session: SparkSession, fold: ArrayFold, parts: Sequence[Part]
) -> ArrayReport | None:
    """One Spark job: each task folds what it has read."""
    runs = split(parts, session.sparkContext.defaultParallelism)
    reports = in_job(session, fold.scan_and_fold, runs)
    complete = [report for report in reports if report]
    if len(complete) == len(runs):
        fold = fold.settled(_arrivals(parts), (report.spans for report in complete))
        reports = _mended(session, fold, runs, complete)
    total = ArrayReport(FoldReport(scanned_by=COLUMNAR), fold.terms)
    for report in filter(None, reports):
        total = total.joined(report)
    if None not in reports:
        return total
    fold.place.take_back(total.fold)
    return None


def _mended(
    session: SparkSession,
    fold: ArrayFold,
    runs: Sequence[tuple[Part, ...]],
    reports: Sequence[ArrayReport],
) -> list[ArrayReport | None]:
    """Tasks that judged wrongly, since others had the rows before theirs, go once more."""
    wrong = [
        number
        for number, report in enumerate(reports)
        if fold.terms.misjudged(report.spans, report.correcting)
    ]
    for number in wrong:
        fold.place.take_back(reports[number].fold)
    loads = [runs[number] for number in wrong]
    again = dict(
        zip(wrong, in_job(session, fold.scan_and_fold, loads) if wrong else [], strict=True)
    )
    return [again.get(number, report) for number, report in enumerate(reports)]
