"""A tick's files folded on arrays: here in threads, or in one Spark job, no shuffle."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidemill.aggregates.user import take_told
from tidemill.scan.arrays.files import UNREADABLE, Part, read_batches, split
from tidemill.scan.arrays.program import Program
from tidemill.scan.arrays.scan import Scanned, scan
from tidemill.scan.contract import FoldPlace, FoldReport
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

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class ArrayReport:
    """The report of a fold on arrays, and the parts of the input in which it refused rows."""

    fold: FoldReport
    refused_in: tuple[Part, ...]

    def joined(self, other: ArrayReport) -> ArrayReport:
        """With what another task did."""
        return ArrayReport(self.fold.joined(other.fold), self.refused_in + other.refused_in)


@dataclass(frozen=True)
class ArrayFold:
    """One tick's work, whoever does it."""

    program: Program
    since_us: int
    place: FoldPlace

    def scan(self, parts: Sequence[Part]) -> Scanned:
        """Accounts, cells and rows of some parts of the files."""
        return scan(self.program, read_batches(self.program, parts), self.since_us)

    def fold(self, scanned: Scanned) -> ArrayReport:
        """Write the pieces of all cells."""
        started = time.perf_counter()
        self.place.failpoint.reach("partials", self.place.tick)
        cells_by_feed = scanned.cells(self.program)
        pieces = self.place.write_rows(scanned.picked)
        for feed, cells in cells_by_feed:
            pieces |= self.place.write(fold_feed(feed, cells))
        self.place.failpoint.reach("fold", self.place.tick)
        report = FoldReport(
            pieces=pieces,
            rows=scanned.rows,
            oldest_us=scanned.oldest_us,
            newest_us=scanned.newest_us,
            raised=scanned.raised_by_expression(),
            seconds=time.perf_counter() - started,
            partial_rows=sum(len(cells) for _, cells in cells_by_feed),
            user_errors=take_told(),
            scanned_by=COLUMNAR,
        )
        return ArrayReport(report, tuple(scanned.refused_in))

    def scan_and_fold(self, parts: Sequence[Part]) -> ArrayReport | None:
        """Pieces of some parts; None if one of them cannot be read here after all."""
        try:
            scanned = self.scan(parts)
        except UNREADABLE:
            return None
        return self.fold(scanned)


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
    total = Scanned()
    try:
        for scanned in in_threads(fold.scan, runs, MOST_SCANNING_THREADS):
            total.add(scanned)
    except UNREADABLE:
        return None
    return fold.fold(total)


def _fold_there(
    session: SparkSession, fold: ArrayFold, parts: Sequence[Part]
) -> ArrayReport | None:
    """One Spark job: each task folds what it has read."""
    runs = split(parts, session.sparkContext.defaultParallelism)
    reports = in_job(session, fold.scan_and_fold, runs)
    total = ArrayReport(FoldReport(scanned_by=COLUMNAR), ())
    for report in filter(None, reports):
        total = total.joined(report)
    if None not in reports:
        return total
    fold.place.take_back(total.fold)
    return None
