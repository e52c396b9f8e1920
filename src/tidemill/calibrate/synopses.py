"""The cost of cells once there are partials: folded, kept, routed, read and answered."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tidemill.answer.request import QueryBatch, WindowRequest
from tidemill.answer.shapes import lift
from tidemill.answer.task import answer
from tidemill.calibrate.cells import GROUPS, holding, make_cells
from tidemill.calibrate.fitting import Action, Job, Watch
from tidemill.calibrate.stage import CONDITIONS, TOTALS, feeds_of, query, synopsis_for
from tidemill.share.weave import VISITS
from tidemill.state.cells import Cells, joined, narrow
from tidemill.state.fold import fold_feed
from tidemill.state.pieces import read_bucket, write_piece
from tidemill.state.routing import routed
from tidemill.state.synopsis import Synopsis

_FEW, _MANY = 16, 64  # slices
_SECOND_US = 1_000_000
_BUCKETS = 2


def fold_ns(watch: Watch) -> float:
    """By slices: a synopsis with the keys of the feed, and one that is rolled up."""
    keys = ("src, proto", "src")
    synopses = [
        synopsis_for(n, [query(key, slide_ms=2_000)]).synopsis for n, key in enumerate(keys)
    ]
    (feed,) = feeds_of(synopses, rolled_up=True)

    def job(slices: int) -> Job:
        cells = make_cells(feed, slices)
        return Job(lambda: list(fold_feed(feed, cells)), len(cells) * len(synopses))

    return watch.each_ns(job(_FEW), job(_MANY))


def keep_ns(watch: Watch, folder: Path) -> float:
    """By slices: written as two pieces, and read again as often as ticks come back to it."""
    synopsis = synopsis_for(0, [query("src", slide_ms=1_000)]).synopsis

    def job(slices: int) -> Job:
        cells = make_cells(synopsis, slices)
        return Job(lambda: _keep(folder, synopsis, cells), 2 * len(cells))

    return watch.each_ns(job(_FEW), job(_MANY))


def _keep(folder: Path, synopsis: Synopsis, cells: Cells) -> None:
    pieces = [write_piece(folder, synopsis, cells, _BUCKETS) for _ in range(2)]
    written = [piece for piece in pieces if piece]
    last_us = int(cells.slices[-1]) + 1
    for _ in range(VISITS):
        for bucket in range(_BUCKETS):
            joined([read_bucket(folder, synopsis, p, bucket, 0, last_us) for p in written])
    for piece in written:
        (folder / piece.name).unlink()


def route_ns(watch: Watch) -> float:
    """By predicates: the same cells handed to more of them."""

    def job(count: int) -> Job:
        queries = [query("src", slide_ms=2_000, where=where) for where in CONDITIONS[:count]]
        synopsis = synopsis_for(0, queries, routed=True).synopsis
        (feed,) = feeds_of([synopsis])
        cells = make_cells(feed, _MANY, len(CONDITIONS))
        return Job(lambda: routed(feed, synopsis, cells), holding(cells, count))

    return watch.each_ns(job(len(CONDITIONS) // 4), job(len(CONDITIONS)))


def narrow_ns(watch: Watch) -> float:
    """By readings: the same cells picked for more of them."""
    queries = [query("src", slide_ms=1_000, where=where) for where in CONDITIONS]
    fit = synopsis_for(0, queries)
    cells = make_cells(fit.synopsis, _MANY, len(CONDITIONS))
    readings = [fit.readings[each.name] for each in queries]

    def job(count: int) -> Job:
        return Job(lambda: narrow(cells, readings[:count]), holding(cells, count))

    return watch.each_ns(job(len(CONDITIONS) // 4), job(len(CONDITIONS)))


def combine_ns(watch: Watch) -> float:
    """By slices: as many windows of more cells."""

    def job(slices: int) -> Job:
        cells, work = _answered(TOTALS, slices, windows=_FEW, length=slices // 2)
        return Job(work, cells)

    return watch.each_ns(job(2 * _FEW), job(4 * _MANY))


def answer_ns(watch: Watch) -> float:
    """By windows: more of them over the same cells."""

    def job(windows: int) -> Job:
        _, work = _answered(TOTALS, 4 * _MANY, windows, length=_MANY)
        return Job(work, windows * GROUPS)

    return watch.each_ns(job(_FEW), job(2 * _MANY))


def probe_ns(watch: Watch) -> float:
    """By the length of windows: sums of floats are merged, never subtracted."""
    windows = 2 * _MANY

    def job(length: int) -> Job:
        _, work = _answered("SUM(delay) AS s", 4 * _MANY, windows, length)
        return Job(work, 2 * windows * GROUPS * float(np.log2(length)))

    return watch.each_ns(job(4), job(2 * _MANY))


def _answered(items: str, slices: int, windows: int, length: int) -> tuple[int, Action]:
    """The number of cells, and the work of answering so many windows of a length over them.

    A floor picks few of the groups, as alarms do.
    """
    floor = f"{items.split(' AS ')[0]} > 1000000000"
    selective = query("src", slide_ms=1_000, items=items, having=floor)
    synopsis = synopsis_for(0, [selective]).synopsis
    cells = make_cells(synopsis, slices)
    starts = np.linspace(0, slices - length, windows).astype(np.int64)
    # Equal windows would be worked out once.
    assert len(np.unique(starts)) == windows
    batch = QueryBatch.of([lift(selective)], is_named=True)
    bounds = starts * _SECOND_US, (starts + length) * _SECOND_US
    requests = [WindowRequest(batch, np.zeros(windows, np.int64), *bounds)]
    return len(cells), lambda: answer(synopsis, cells, requests)
