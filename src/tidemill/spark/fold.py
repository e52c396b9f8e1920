"""Steps 2 and 3: partials in the JVM, folded into pieces by whoever holds them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from tidemill.failpoints import Failpoint
from tidemill.spark.partials import (
    BUCKET,
    COUNTED,
    FILTERED,
    LATE,
    MALFORMED,
    NEWEST,
    VERDICT,
    distinct_scalars,
    raised_column,
)
from tidemill.synopsis.fold import fold_rows
from tidemill.synopsis.model import Synopsis
from tidemill.synopsis.pieces import Piece, write_piece

_REPORT = "synopsis STRING, report STRING"
# Up to this many partial rows are folded by the driver: a Python stage in the job costs a
# tenth of a second whatever it does, and so many rows come over in less. A first tick has
# only its input to judge by, which is usually many times more than its partials.
MOST_ROWS_HERE = 100_000
MOST_INPUT_ROWS_HERE = 3_000_000


@dataclass(frozen=True)
class FoldReport:
    """What one task, or all tasks of one synopsis, did."""

    pieces: tuple[Piece, ...] = ()
    rows: Mapping[int, int] = field(default_factory=dict)  # by verdict
    newest_us: int | None = None
    raised: Mapping[str, int] = field(default_factory=dict)  # by expression
    seconds: float = 0.0  # of the slowest task, in the fold alone
    partial_rows: int = 0

    def joined(self, other: FoldReport) -> FoldReport:
        times = [t for t in (self.newest_us, other.newest_us) if t is not None]
        return FoldReport(
            pieces=self.pieces + other.pieces,
            rows=_added(self.rows, other.rows),
            newest_us=max(times, default=None),
            raised=_added(self.raised, other.raised),
            seconds=max(self.seconds, other.seconds),
            partial_rows=self.partial_rows + other.partial_rows,
        )

    @property
    def rows_in(self) -> int:
        return sum(self.rows.values())

    @property
    def late(self) -> int:
        return self.rows.get(LATE, 0)

    @property
    def malformed(self) -> int:
        return self.rows.get(MALFORMED, 0)


@dataclass(frozen=True)
class FoldPlace:
    """Where pieces go, and what is needed to die on the way in a test."""

    root: Path
    tick: int
    failpoint: Failpoint


def run_fold(
    partials: Mapping[str, DataFrame],
    synopses: Mapping[str, Synopsis],
    place: FoldPlace,
    small: bool,
) -> dict[str, FoldReport]:
    """Aggregate and fold all synopses of a stream; returns a report for each.

    Small folds are done here; otherwise the executors fold what they hold.
    """
    fold = _fold_here if small else _fold_there
    return fold(partials, synopses, place)


def is_small(last_partial_rows: int | None, most_input_rows: int | None) -> bool:
    """Whether few partial rows will come. That is only known afterwards: guess by the last tick."""
    if last_partial_rows is not None:
        return last_partial_rows <= MOST_ROWS_HERE
    return most_input_rows is not None and most_input_rows <= MOST_INPUT_ROWS_HERE


def _fold_here(
    partials: Mapping[str, DataFrame], synopses: Mapping[str, Synopsis], place: FoldPlace
) -> dict[str, FoldReport]:
    with ThreadPoolExecutor(max_workers=min(4, len(partials))) as pool:
        tables = dict(zip(partials, pool.map(DataFrame.toArrow, partials.values()), strict=True))
    place.failpoint.reach("partials", place.tick)
    reports = {key: _timed(synopses[key], place.root / key, rows) for key, rows in tables.items()}
    place.failpoint.reach("fold", place.tick)
    return reports


def _fold_there(
    partials: Mapping[str, DataFrame], synopses: Mapping[str, Synopsis], place: FoldPlace
) -> dict[str, FoldReport]:
    """One Spark job for everything: each task folds the partial rows it holds."""
    folded = [
        frame.mapInArrow(_folder(synopses[key], place), _REPORT) for key, frame in partials.items()
    ]
    job = folded[0]
    for frame in folded[1:]:
        job = job.union(frame)
    reports = {key: FoldReport() for key in partials}
    for row in job.toArrow().to_pylist():
        report = read_report(json.loads(row["report"]))
        reports[row["synopsis"]] = reports[row["synopsis"]].joined(report)
    return reports


def _folder(
    synopsis: Synopsis, place: FoldPlace
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def fold(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        place.failpoint.reach("partials", place.tick)
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        if not tables:
            return
        report = _timed(synopsis, place.root / synopsis.id, pa.concat_tables(tables))
        place.failpoint.reach("fold", place.tick)
        text = json.dumps(asdict(report))
        yield pa.RecordBatch.from_pydict({"synopsis": [synopsis.id], "report": [text]})

    return fold


def _timed(synopsis: Synopsis, folder: Path, rows: pa.Table) -> FoldReport:
    started = time.perf_counter()
    report = _fold(synopsis, folder, rows)
    return replace(report, seconds=time.perf_counter() - started, partial_rows=len(rows))


def _fold(synopsis: Synopsis, folder: Path, rows: pa.Table) -> FoldReport:
    verdict = rows.column(VERDICT).to_numpy()
    counted = _where(rows, verdict == COUNTED)
    buckets = counted.column(BUCKET).to_numpy().astype(np.int64)
    piece = write_piece(folder, fold_rows(synopsis, counted, buckets)) if len(counted) else None
    accepted = _where(rows, (verdict == COUNTED) | (verdict == FILTERED))
    return FoldReport(
        pieces=(piece,) if piece else (),
        rows=_rows_by_verdict(synopsis, rows, verdict),
        newest_us=pc.max(accepted.column(NEWEST)).as_py(),
        raised=_raised(synopsis, accepted),
    )


def _where(rows: pa.Table, wanted: NDArray[np.bool_]) -> pa.Table:
    # Nearly always all of them; then nothing need be copied.
    return rows if wanted.all() else rows.filter(pa.array(wanted))


def _rows_by_verdict(
    synopsis: Synopsis, rows: pa.Table, verdict: NDArray[np.int32]
) -> dict[int, int]:
    # Whatever a synopsis keeps, its first lane is the number of rows.
    (counted,) = synopsis.lane_columns(0)
    counts = rows.column(counted).to_numpy()
    return {int(v): int(counts[verdict == v].sum()) for v in np.unique(verdict)}


def _raised(synopsis: Synopsis, rows: pa.Table) -> dict[str, int]:
    columns = {
        scalar.sql: rows.column(raised_column(number)).to_numpy()
        for number, scalar in enumerate(distinct_scalars(synopsis))
        if scalar.may_raise
    }
    return {sql: int(counts.sum()) for sql, counts in columns.items() if counts.any()}


def _added(left: Mapping[Any, int], right: Mapping[Any, int]) -> dict[Any, int]:
    return {key: left.get(key, 0) + right.get(key, 0) for key in {**left, **right}}


def read_report(raw: dict[str, Any]) -> FoldReport:
    """A report from its JSON form."""
    return FoldReport(
        pieces=tuple(read_piece(piece) for piece in raw["pieces"]),
        rows={int(verdict): count for verdict, count in raw["rows"].items()},
        newest_us=raw["newest_us"],
        raised=raw["raised"],
        seconds=raw["seconds"],
        partial_rows=raw["partial_rows"],
    )


def read_piece(raw: dict[str, Any]) -> Piece:
    """A piece from its JSON form."""
    spans = tuple((bucket, first, rows) for bucket, first, rows in raw["spans"])
    return Piece(raw["name"], raw["rows"], raw["size"], tuple(raw["slices"]), spans)
