"""A tick's files folded on arrays: here in threads, or in one Spark job, no shuffle."""

from __future__ import annotations

import pickle
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from tidemill.aggregates.user import take_told
from tidemill.scan.arrays.chunk import OutOfRangeError
from tidemill.scan.arrays.files import Part, read_chunks, split
from tidemill.scan.arrays.lines import NotPlainError
from tidemill.scan.arrays.program import Program
from tidemill.scan.arrays.scan import Scanned, scan
from tidemill.scan.contract import FoldPlace, FoldReport
from tidemill.state.fold import fold_feed
from tidemill.state.pieces import Piece

COLUMNAR = "columnar"
# A Spark job costs a tenth of a second before it reads anything: a million rows' worth of work.
# Threads read well together but fold in turn, so many cells are better folded by tasks.
MOST_ROWS_HERE = 1_000_000
MOST_CELLS_HERE = 100_000
# To sketch a row takes as long as everything else that is done with so many.
_SKETCHED_ROW = 5
# Two threads share an interpreter, and more than a few only wait for each other.
_MOST_THREADS = 4
_UNREADABLE = (OSError, pa.ArrowException, OutOfRangeError, NotPlainError)


@dataclass(frozen=True)
class ArrayFold:
    """One tick's work, whoever does it."""

    program: Program
    since_us: int
    place: FoldPlace

    def scan(self, parts: Sequence[Part]) -> Scanned:
        """What some parts of the files come to."""
        return scan(self.program, read_chunks(self.program, parts), self.since_us)

    def fold(self, scanned: Scanned) -> FoldReport:
        """Pieces of all that was found."""
        started = time.perf_counter()
        self.place.failpoint.reach("partials", self.place.tick)
        found = scanned.cells(self.program)
        pieces: dict[str, tuple[Piece, ...]] = {}
        for feed, cells in found:
            pieces |= self.place.write(fold_feed(feed, cells))
        self.place.failpoint.reach("fold", self.place.tick)
        return FoldReport(
            pieces=pieces,
            rows=scanned.rows,
            newest_us=scanned.newest_us,
            seconds=time.perf_counter() - started,
            partial_rows=sum(len(cells) for _, cells in found),
            told=take_told(),
            route=COLUMNAR,
        )


def run_columnar(
    session: SparkSession, fold: ArrayFold, parts: Sequence[Part], last_cells: int
) -> FoldReport | None:
    """Fold the files; None if a part of them cannot be read here after all.

    How many cells will come is only known afterwards: it is guessed by the last tick.
    """
    cores = session.sparkContext.defaultParallelism
    rows = sum(part.rows for part in parts)
    if fold.program.holds_interpreter:
        rows *= _SKETCHED_ROW
    if rows <= MOST_ROWS_HERE and last_cells <= MOST_CELLS_HERE:
        return _fold_here(fold, split(parts, min(_MOST_THREADS, cores)))
    return _fold_there(session, fold, split(parts, cores))


def _fold_here(fold: ArrayFold, runs: list[tuple[Part, ...]]) -> FoldReport | None:
    whole = Scanned()
    try:
        with ThreadPoolExecutor(max_workers=max(1, len(runs))) as pool:
            for scanned in pool.map(fold.scan, runs):
                whole.add(scanned)
    except _UNREADABLE:
        return None
    return fold.fold(whole)


def _fold_there(
    session: SparkSession, fold: ArrayFold, runs: list[tuple[Part, ...]]
) -> FoldReport | None:
    """One Spark job: each task folds what it has read."""
    # Spark's own pickling, made for code typed at a prompt, takes three times as long.
    work = [pickle.dumps((fold, run)) for run in runs]
    done = session.sparkContext.parallelize(work, len(work)).map(_fold_run).collect()
    together = FoldReport(route=COLUMNAR)
    reports = [pickle.loads(one) for one in done]
    for report in filter(None, reports):
        together = together.joined(report)
    if None not in reports:
        return together
    fold.place.take_back(together)
    return None


def _fold_run(work: bytes) -> bytes:
    fold, run = pickle.loads(work)
    try:
        scanned = fold.scan(run)
    except _UNREADABLE:
        return pickle.dumps(None)
    return pickle.dumps(fold.fold(scanned))
