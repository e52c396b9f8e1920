"""The cost of cells once there are partials: folded, kept, routed, read and answered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tidemill.calibrate.answers import answering
from tidemill.calibrate.cells import GROUPS, holding, make_cells
from tidemill.calibrate.fitting import Action, Job, Watch
from tidemill.calibrate.stage import CONDITIONS, COUNTS, feeds_of, query, synopsis_for
from tidemill.state.cells import Cells, joined, narrow, which_read
from tidemill.state.fold import fold_feed
from tidemill.state.pieces import Piece, read_bucket, write_piece
from tidemill.state.routing import routed
from tidemill.state.synopsis import Synopsis

_FEW, _MANY = 16, 64  # slices
_LEAST, _MOST = 256, 1_500  # where cells are too many to lie in the caches, as in large ticks
_BUCKETS, _SMALL_GROUPS = 2, 20


def fold_ns(watch: Watch) -> float:
    """By slices: a synopsis with the keys of the feed, and one that is rolled up."""
    keys = ("src, proto", "src")
    synopses = [
        synopsis_for(n, [query(key, 2_000, items=COUNTS)]).synopsis for n, key in enumerate(keys)
    ]
    (feed,) = feeds_of(synopses, rolled_up=True)

    def job(slices: int) -> Job:
        cells = make_cells(feed, slices)
        return Job(lambda: list(fold_feed(feed, cells)), len(cells) * len(synopses))

    return watch.each_ns(job(_LEAST), job(_MOST))


def keep_ns(watch: Watch, folder: Path) -> float:
    """By slices: written as a piece."""
    synopsis = synopsis_for(0, [query("src", 1_000, items=COUNTS)]).synopsis

    def job(slices: int) -> Job:
        cells = make_cells(synopsis, slices)
        return Job(lambda: _drop(folder, [_written(folder, synopsis, cells)]), len(cells))

    return watch.each_ns(job(_FEW), job(_MANY))


def read_ns(watch: Watch, folder: Path) -> float:
    """By slices: two pieces read, and put together."""
    synopsis = synopsis_for(0, [query("src", 1_000, items=COUNTS)]).synopsis
    written = {
        slices: [_written(folder, synopsis, make_cells(synopsis, slices)) for _ in range(2)]
        for slices in (_FEW, _MANY)
    }

    def job(slices: int) -> Job:
        pieces = written[slices]
        count = sum(piece.rows for piece in pieces)
        return Job(lambda: _read(folder, synopsis, pieces), count)

    cell_ns = watch.each_ns(job(_FEW), job(_MANY))
    for pieces in written.values():
        _drop(folder, pieces)
    return cell_ns


def piece_ns(watch: Watch, folder: Path) -> float:
    """By pieces: each of a handful of cells, written and dropped."""
    synopsis, cells = _handful()

    def work(pieces: int) -> None:
        _drop(folder, [_written(folder, synopsis, cells) for _ in range(pieces)])

    return watch.each_ns(*(Job(partial(work, count), count) for count in (_FEW, 4 * _FEW)))


def open_ns(watch: Watch, folder: Path) -> float:
    """By pieces: each of a handful of cells, read and put together with the others."""
    synopsis, cells = _handful()
    pieces = [_written(folder, synopsis, cells) for _ in range(4 * _FEW)]

    def job(count: int) -> Job:
        return Job(lambda: _read(folder, synopsis, pieces[:count]), count)

    piece_open_ns = watch.each_ns(job(_FEW), job(4 * _FEW))
    _drop(folder, pieces)
    return piece_open_ns


def _handful() -> tuple[Synopsis, Cells]:
    synopsis = synopsis_for(0, [query("src", 1_000, items=COUNTS)]).synopsis
    cells = make_cells(synopsis, 1)
    return synopsis, cells.where(cells.group < _SMALL_GROUPS)


def _written(folder: Path, synopsis: Synopsis, cells: Cells) -> Piece:
    piece = write_piece(folder, synopsis, cells, _BUCKETS)
    assert piece is not None
    return piece


def _read(folder: Path, synopsis: Synopsis, pieces: Sequence[Piece]) -> None:
    last_us = pieces[-1].last_us + 1
    for bucket in range(_BUCKETS):
        joined([read_bucket(folder, synopsis, p, bucket, 0, last_us) for p in pieces])


def _drop(folder: Path, pieces: Sequence[Piece]) -> None:
    for piece in pieces:
        (folder / piece.name).unlink()


def route_ns(watch: Watch) -> float:
    """By slices: more cells handed to several predicates each."""
    queries = [query("src", 2_000, where, COUNTS) for where in CONDITIONS]
    synopsis = synopsis_for(0, queries, routed=True).synopsis
    (feed,) = feeds_of([synopsis])

    def job(slices: int) -> Job:
        cells = make_cells(feed, slices, len(CONDITIONS))
        return Job(lambda: routed(feed, synopsis, cells), holding(cells, len(CONDITIONS)))

    return watch.each_ns(job(_LEAST), job(_MOST))


def home_ns(watch: Watch) -> float:
    """By predicates: a handful of cells, so that what each takes in a tick is all there is."""

    def job(count: int) -> Job:
        queries = [query("src", 2_000 + n, where, COUNTS) for n, where in enumerate(_floors(count))]
        synopsis = synopsis_for(0, queries, routed=True).synopsis
        (feed,) = feeds_of([synopsis])
        cells = make_cells(feed, 2, bits=1)
        cells = cells.where(cells.group < _SMALL_GROUPS)
        return Job(lambda: routed(feed, synopsis, cells), count)

    return watch.each_ns(job(_FEW), job(4 * _MANY))


def _floors(count: int) -> list[str]:
    return [f"length > {number}" for number in range(count)]


def narrow_ns(watch: Watch) -> float:
    """By readings: the same cells picked for more of them."""
    queries = [query("src", slide_ms=1_000, where=where) for where in CONDITIONS]
    fit = synopsis_for(0, queries)
    cells = make_cells(fit.synopsis, _MANY, len(CONDITIONS))
    readings = [fit.readings[each.name] for each in queries]

    def job(count: int) -> Job:
        is_read = which_read(readings[:count], cells.signatures)
        return Job(lambda: narrow(cells, readings[:count], is_read), holding(cells, count))

    return watch.each_ns(job(len(CONDITIONS) // 4), job(len(CONDITIONS)))


def combine_ns(watch: Watch) -> float:
    """By slices: as many windows of more cells."""

    def job(slices: int) -> Job:
        cells, work = _answered(slices, windows=_FEW, length=slices // 2)
        return Job(work, cells)

    return watch.each_ns(job(2 * _FEW), job(4 * _MANY))


def answer_ns(watch: Watch) -> float:
    """By windows: more of them over the same cells."""

    def job(windows: int) -> Job:
        _, work = _answered(4 * _MANY, windows, length=_MANY)
        return Job(work, windows * GROUPS)

    return watch.each_ns(job(_FEW), job(2 * _MANY))


def _answered(slices: int, windows: int, length: int) -> tuple[int, Action]:
    """The number of cells, and the work of answering so many windows of a length over them.

    A floor picks few of the groups, as alarms do.
    """
    selective = query("src", slide_ms=1_000, items=COUNTS, having="COUNT(*) > 1000000000")
    synopsis = synopsis_for(0, [selective]).synopsis
    cells = make_cells(synopsis, slices)
    starts = np.linspace(0, slices - length, windows).astype(np.int64)
    return len(cells), answering(synopsis, cells, selective, starts, length)
