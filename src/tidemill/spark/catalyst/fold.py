"""Steps 2 and 3: partials in the JVM, folded into pieces by whoever holds them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidemill.aggregates.user import take_told
from tidemill.arrays import BoolArray
from tidemill.scan.contract import (
    ACCEPTED,
    TAKEN,
    Admission,
    FoldPlace,
    FoldReport,
    read_report,
)
from tidemill.scan.routes import CATALYST
from tidemill.spark.catalyst.judging import JUDGED_BY, Judgement, judge_groups
from tidemill.spark.catalyst.partials import NEWEST, OLDEST, VERDICT, CatalystPass
from tidemill.spark.catalyst.values import raised_column
from tidemill.spark.jobs import Workplace, WorkSize, in_threads, workplace_of
from tidemill.state.fold import fold_feed
from tidemill.state.pieces import Piece, gather
from tidemill.state.raised import raised_by_signature

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Passes that Spark runs side by side.
_MOST_JOBS = 4


@dataclass(frozen=True)
class CatalystReport:
    """The report of a fold in Catalyst, and the judgement by which it went; the rows of arrivals
    that have to be read again are not in it."""

    fold: FoldReport
    judgement: Judgement


def fold_in_catalyst(
    frames: Sequence[tuple[CatalystPass, DataFrame]],
    place: FoldPlace,
    work: WorkSize,
    admission: Admission,
) -> CatalystReport:
    """Aggregate and fold all passes of a tick.

    Small folds are done here; otherwise the executors fold what they hold.
    """
    if not frames:
        return CatalystReport(FoldReport(), Judgement(admission.terms))
    fold = _fold_there if workplace_of(work) is Workplace.JOB else _fold_here
    reports, judgement = fold(frames, place)
    total = FoldReport()
    for report in reports:
        total = total.beside(report)
    return CatalystReport(replace(total, scanned_by=CATALYST), judgement)


def _fold_here(
    frames: Sequence[tuple[CatalystPass, DataFrame]], place: FoldPlace
) -> tuple[list[FoldReport], Judgement]:
    tables = in_threads(lambda part: part[1].toArrow(), frames, _MOST_JOBS)
    judgement = judge_groups(frames[0][0].admission, tables)
    place.failpoint.reach("partials", place.tick)
    reports = [
        _timed(one_pass, place, judgement.judged(rows))
        for (one_pass, _), rows in zip(frames, tables, strict=True)
    ]
    place.failpoint.reach("fold", place.tick)
    return reports, judgement


def _fold_there(
    frames: Sequence[tuple[CatalystPass, DataFrame]], place: FoldPlace
) -> tuple[list[FoldReport], Judgement]:
    """One Spark job for everything: each task folds the partial rows it holds."""
    with _judged_there(frames) as judgement:
        folded = [
            frame.mapInArrow(_folder(number, one_pass, judgement, place), "pass INT, report STRING")
            for number, (one_pass, frame) in enumerate(frames)
        ]
        job = folded[0]
        for frame in folded[1:]:
            job = job.union(frame)
        reports = [FoldReport() for _ in frames]
        for row in job.toArrow().to_pylist():
            report = read_report(json.loads(row["report"]))
            reports[row["pass"]] = reports[row["pass"]].joined(report)
    return reports, judgement


@contextmanager
def _judged_there(frames: Sequence[tuple[CatalystPass, DataFrame]]) -> Iterator[Judgement]:
    """The judgement on all groups, which are made once if they have to be looked at before."""
    admission = frames[0][0].admission
    if not admission.judges_later:
        yield judge_groups(admission, [])
        return
    groups = [frame.persist() for _, frame in frames]
    try:
        yield judge_groups(admission, [group.select(*JUDGED_BY).toArrow() for group in groups])
    finally:
        for group in groups:
            group.unpersist()


def _folder(
    number: int, one_pass: CatalystPass, judgement: Judgement, place: FoldPlace
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def fold(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        place.failpoint.reach("partials", place.tick)
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        if not tables:
            return
        report = _timed(one_pass, place, judgement.judged(pa.concat_tables(tables)))
        place.failpoint.reach("fold", place.tick)
        columns = [pa.array([number], pa.int32()), pa.array([json.dumps(asdict(report))])]
        yield pa.RecordBatch.from_arrays(columns, ["pass", "report"])

    return fold


def _timed(one_pass: CatalystPass, place: FoldPlace, rows: pa.Table) -> FoldReport:
    started = time.perf_counter()
    report = _fold(one_pass, place, rows)
    seconds = time.perf_counter() - started
    return replace(report, seconds=seconds, partial_rows=len(rows), user_errors=take_told())


def _fold(one_pass: CatalystPass, place: FoldPlace, rows: pa.Table) -> FoldReport:
    pieces: dict[str, tuple[Piece, ...]] = {}
    for number in range(len(one_pass.feeds)):
        pieces |= _pieces(one_pass, number, place, one_pass.feed_rows(number, rows))
    # A feed has met every row, so one of them has the accounts; unless tables have made several
    # rows of one, which another pass has then counted.
    counting = one_pass.counting_feed
    judged = one_pass.feed_rows(counting or 0, rows)
    verdict = judged.column(VERDICT).to_numpy()
    accepted = _accepted(judged)
    return FoldReport(
        pieces=pieces,
        rows={} if counting is None else _rows_by_verdict(one_pass, judged, verdict),
        oldest_us=pc.min(accepted.column(OLDEST)).as_py(),
        newest_us=pc.max(accepted.column(NEWEST)).as_py(),
        raised=_raised(one_pass, rows),
        raised_by_signature=_raised_by_signature(one_pass, rows),
    )


def _pieces(
    one_pass: CatalystPass, number: int, place: FoldPlace, rows: pa.Table
) -> dict[str, tuple[Piece, ...]]:
    counted = _in_cells(rows)
    if not len(counted):
        return {}
    feed = one_pass.feeds[number]
    return place.write(fold_feed(feed, gather(feed, counted)))


def _where(rows: pa.Table, chosen: BoolArray) -> pa.Table:
    # Nearly always all of them; then nothing need be copied.
    return rows if chosen.all() else rows.filter(pa.array(chosen))


def _accepted(rows: pa.Table) -> pa.Table:
    return _where(rows, np.isin(rows.column(VERDICT).to_numpy(), ACCEPTED))


def _in_cells(rows: pa.Table) -> pa.Table:
    return _where(rows, np.isin(rows.column(VERDICT).to_numpy(), TAKEN))


def _rows_by_verdict(
    one_pass: CatalystPass, rows: pa.Table, verdict: NDArray[np.int32]
) -> dict[int, int]:
    # Whatever a scan keeps, its first lane is the number of rows.
    (counted,) = one_pass.scan.lane_columns(0)
    counts = rows.column(counted).to_numpy()
    return {int(v): int(counts[verdict == v].sum()) for v in np.unique(verdict)}


def _raised(one_pass: CatalystPass, rows: pa.Table) -> dict[str, int]:
    """The times that each expression raised, in rows of a relation whose queries have it."""
    raised: dict[str, int] = {}
    for first, *_ in one_pass.places_by_relation:
        accepted = _accepted(one_pass.feed_rows(first, rows))
        for scalar in one_pass.own_scans[first].scalars:
            if scalar.may_raise and scalar.sql not in raised:
                number = one_pass.scan.scalars.index(scalar)
                raised[scalar.sql] = pc.sum(accepted.column(raised_column(number))).as_py() or 0
    return {sql: count for sql, count in raised.items() if count}


def _raised_by_signature(one_pass: CatalystPass, rows: pa.Table) -> dict[str, int]:
    """The same by the signatures of rows that count, for what is worked out of those."""
    raised: dict[str, int] = {}
    for place, feed in enumerate(one_pass.feeds):
        counted = _in_cells(one_pass.feed_rows(place, rows))
        for number, scalar in enumerate(one_pass.scan.scalars):
            if scalar.may_raise:
                counts = counted.column(raised_column(number)).to_numpy()
                places = np.flatnonzero(counts)
                words = [counted.column(name).to_numpy()[places] for name in feed.signature_columns]
                signed = np.array(words, dtype=np.int64).reshape(len(words), len(places)).T
                raised |= raised_by_signature(feed, scalar.sql, signed, counts[places])
    return raised
