"""What a lane of each cost family adds to a cell, beside the count of its rows.

The same work is done twice, on cells that only count and on cells with one aggregate more; what
the second takes beyond the first is shared out among the lanes and the entries of their states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidemill.aggregates import CostFamily, Lane
from tidemill.calibrate.answers import answering
from tidemill.calibrate.fitting import LEAST_NS, Job, Watch
from tidemill.calibrate.stage import feeds_of, query, stream, synopsis_for
from tidemill.plan.query import QueryPlan
from tidemill.scan.arrays.files import MadeRows, read_batches
from tidemill.scan.arrays.program import write_program
from tidemill.scan.arrays.scan import in_total, scan
from tidemill.scan.contract import Terms
from tidemill.share.weave import CellCosts
from tidemill.state.cells import Cells, joined
from tidemill.state.feed import Feed
from tidemill.state.fold import fold_feed
from tidemill.state.pieces import Piece, read_bucket, write_piece
from tidemill.state.synopsis import Synopsis

# An aggregate of each family; numbers are merged only where they are floats.
ITEMS: Mapping[CostFamily, str] = {
    CostFamily.NUMBERS: "SUM(length)",
    CostFamily.EXTREMES: "MAX(length)",
    CostFamily.RECORDS: "STDDEV(length)",
    CostFamily.VALUES: "MEDIAN(length)",
    CostFamily.SKETCHES: "APPROX_COUNT_DISTINCT(length)",
    CostFamily.CODE: "calibrated(length)",
}
_MERGED = {**ITEMS, CostFamily.NUMBERS: "SUM(delay)"}
_FEW, _MANY = 16, 128  # slices: a tick's cells, too many to lie in the caches
_GROUPS, _ROWS_EACH = 1_000, 8
_HANDFUL, _BUCKETS = 20, 2
_SECOND_US = 1_000_000


def lane_costs(watch: Watch, folder: Path, family: CostFamily) -> CellCosts:
    """Every figure of one family."""
    bare, full = _Stage("COUNT(*)", folder), _Stage(ITEMS[family], folder)
    row_ns = (_row_ns(watch, full) - _row_ns(watch, bare)) / len(full.lanes)
    figures = {
        name: _share(measure(watch, full) - measure(watch, bare), full)
        for name, measure in _MEASURES.items()
    }
    merged = _Stage(_MERGED[family], folder)
    probe_ns = _share(_probe_ns(watch, merged), merged)
    open_ns = (_open_ns(watch, full) - _open_ns(watch, bare)) / len(full.lanes)
    row_ns, open_ns = max(LEAST_NS, row_ns), max(LEAST_NS, open_ns)
    return CellCosts(row_ns, **figures, probe_ns=probe_ns, open_ns=open_ns)


@dataclass(frozen=True, eq=False)
class _Stage:
    """A feed with two synopses, and its cells of more and of fewer slices."""

    item: str
    folder: Path

    @cached_property
    def alarm(self) -> QueryPlan:
        """A query whose floor picks few of the groups, as alarms do, and looks at every lane."""
        return query("src", slide_ms=1_000, items=f"{self.item} AS v", having=f"{self.item} < -1")

    @cached_property
    def synopses(self) -> tuple[Synopsis, ...]:
        finer = query("src, proto", slide_ms=1_000, items=f"{self.item} AS v")
        return tuple(synopsis_for(n, [q]).synopsis for n, q in enumerate((finer, self.alarm)))

    @cached_property
    def feed(self) -> Feed:
        (feed,) = feeds_of(self.synopses, rolled_up=True)
        return feed

    @cached_property
    def root(self) -> Mapping[int, Cells]:
        """By the number of slices."""
        return {slices: self.scanned(slices) for slices in (_FEW, _MANY)}

    def synopsis_cells(self, slices: int) -> Cells:
        """The cells of the synopsis with the fewer keys."""
        return next(c for s, c in fold_feed(self.feed, self.root[slices]) if s is self.synopses[1])

    @property
    def lanes(self) -> Sequence[Lane]:
        """Those beside the count of rows."""
        return self.synopses[1].lanes[1:]

    def scanned(self, slices: int, rows_each: int = _ROWS_EACH) -> Cells:
        program = write_program(stream(Path()), [self.feed])
        count = slices * _GROUPS * rows_each
        part = MadeRows(0, lambda: _rows(slices, rows_each), count)
        scanned_rows = in_total(scan(program, read_batches(program, [part]), Terms()))
        return joined([cells for _, cells in scanned_rows.cells(program)])


def _rows(slices: int, rows_each: int) -> Iterator[pa.RecordBatch]:
    """Every group in every second, so many rows of each by chance, about half in either protocol.

    As in a stream, neighbours are of other groups: how far apart cells lie is part of the costs.
    """
    dice = np.random.default_rng(slices)
    order = np.tile(np.arange(_GROUPS), (slices, rows_each))
    group = dice.permuted(order, axis=1).ravel()
    second = np.repeat(np.arange(slices), _GROUPS * rows_each)
    length = dice.integers(40, 1_500, len(group))
    yield pa.RecordBatch.from_pydict(
        {
            "ts": pa.array(second * _SECOND_US, pa.timestamp("us", tz="UTC")),
            "src": pa.array(group).cast(pa.string()),
            "proto": pa.array(["TCP", "UDP"]).take(pa.array(np.arange(len(group)) % 2)),
            "port": pa.array(np.full(len(group), 443, np.int32)),
            "length": pa.array(length),
            "delay": pa.array(length.astype(np.float64)),
        }
    )


def _row_ns(watch: Watch, stage: _Stage) -> float:
    """By rows in the same cells."""
    few, many = 2, 10

    def job(each: int) -> Job:
        return Job(lambda: stage.scanned(_FEW, each), _FEW * _GROUPS * each)

    return watch.each_ns(job(few), job(many))


def _partial_ns(watch: Watch, stage: _Stage) -> float:
    """By cells of the same rows."""
    rows = 2 * _MANY

    def job(slices: int) -> Job:
        return Job(lambda: stage.scanned(slices, rows // slices), len(stage.root[slices]))

    return watch.each_ns(job(_FEW), job(_MANY))


def _fold_ns(watch: Watch, stage: _Stage) -> float:
    def job(slices: int) -> Job:
        cells = stage.root[slices]
        return Job(lambda: list(fold_feed(stage.feed, cells)), 2 * len(cells))

    return watch.each_ns(job(_FEW), job(_MANY))


def _keep_ns(watch: Watch, stage: _Stage) -> float:
    def job(slices: int) -> Job:
        cells = stage.synopsis_cells(slices)
        return Job(lambda: _drop(stage, _written(stage, cells)), len(cells))

    return watch.each_ns(job(_FEW), job(_MANY))


def _read_ns(watch: Watch, stage: _Stage) -> float:
    pieces = [_written(stage, stage.synopsis_cells(slices)) for slices in (_FEW, _MANY)]

    def job(piece: Piece) -> Job:
        last_us = piece.last_us + 1
        synopsis = stage.synopses[1]
        return Job(lambda: read_bucket(stage.folder, synopsis, piece, 0, 0, last_us), piece.rows)

    read_ns = watch.each_ns(*map(job, pieces))
    for piece in pieces:
        _drop(stage, piece)
    return read_ns


def _open_ns(watch: Watch, stage: _Stage) -> float:
    """By pieces: each of a handful of cells in every bucket."""
    cells = stage.synopsis_cells(_FEW)
    cells = cells.where((cells.group < _HANDFUL) & (cells.slice_index < 1))
    pieces = [_written(stage, cells, _BUCKETS) for _ in range(_MANY)]

    def opened(count: int) -> None:
        for piece in pieces[:count]:
            for bucket in range(_BUCKETS):
                read_bucket(stage.folder, stage.synopses[1], piece, bucket, 0, piece.last_us + 1)

    open_ns = watch.each_ns(*(Job(partial(opened, count), count) for count in (_FEW, _MANY)))
    for piece in pieces:
        _drop(stage, piece)
    return open_ns


def _written(stage: _Stage, cells: Cells, buckets: int = 1) -> Piece:
    piece = write_piece(stage.folder, stage.synopses[1], cells, buckets)
    assert piece is not None
    return piece


def _drop(stage: _Stage, piece: Piece) -> None:
    (stage.folder / piece.name).unlink()


def _combine_ns(watch: Watch, stage: _Stage) -> float:
    """By slices: as many windows of more cells."""

    def job(slices: int) -> Job:
        cells = stage.synopsis_cells(slices)
        length = slices // 2
        starts = np.arange(_FEW // 2)
        return Job(answering(stage.synopses[1], cells, stage.alarm, starts, length), len(cells))

    return watch.each_ns(job(_FEW), job(_MANY))


def _answer_ns(watch: Watch, stage: _Stage) -> float:
    """By windows: more of them over the same cells."""
    cells, length = stage.synopsis_cells(_MANY), _MANY // 2

    def job(windows: int) -> Job:
        work = answering(stage.synopses[1], cells, stage.alarm, np.arange(windows), length)
        return Job(work, windows * _GROUPS)

    return watch.each_ns(job(4), job(_MANY // 2))


def _probe_ns(watch: Watch, stage: _Stage) -> float:
    """By the length of windows: a window is put together from two merges for each doubling."""
    cells, windows = stage.synopsis_cells(_MANY), _MANY // 2

    def job(length: int) -> Job:
        work = answering(stage.synopses[1], cells, stage.alarm, np.arange(windows), length)
        return Job(work, 2 * windows * _GROUPS * float(np.log2(length)))

    return watch.each_ns(job(2), job(_MANY // 2))


_MEASURES: Mapping[str, Callable[[Watch, _Stage], float]] = {
    "partial_ns": _partial_ns,
    "fold_ns": _fold_ns,
    "keep_ns": _keep_ns,
    "read_ns": _read_ns,
    "combine_ns": _combine_ns,
    "answer_ns": _answer_ns,
}
assert {field.name for field in fields(CellCosts)} == {
    "row_ns",
    *_MEASURES,
    "probe_ns",
    "open_ns",
}


def _share(all_ns: float, stage: _Stage) -> float:
    """Of one entry of one lane; a cell has a row for each of its entries, or one entry."""
    entries = sum(min(float(_ROWS_EACH), lane.most_entries) for lane in stage.lanes)
    return max(LEAST_NS, all_ns / entries)
