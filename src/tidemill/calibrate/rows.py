"""The cost of rows on the way to partials: the same three figures for either route."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidemill.calibrate.fitting import Job, Watch
from tidemill.calibrate.stage import CONDITIONS, COUNTS, MODEL, feeds_of, query, synopsis_for
from tidemill.state.feed import Feed

# Files ⇒ the partials of each feed ⇒ how many there are.
Make = Callable[[Sequence[str], Sequence[Feed]], int]
_KEYS = ("src", "proto, port", "port")
_FINE_KEYS = ("src, port",)


@dataclass(frozen=True)
class RowFigures:
    scan_ns: float
    set_ns: float
    partial_ns: float


def measure_rows(make: Make, watch: Watch, paths: Sequence[str]) -> RowFigures:
    """By more files, by more sub-aggregations, and by finer slices."""
    quarter = paths[: len(paths) // 4]
    single, three = _feeds(_KEYS[:1]), _feeds(_KEYS)
    coarse, fine = _feeds(_FINE_KEYS), _feeds(_FINE_KEYS, slide_ms=100)

    def job(files: Sequence[str], feeds: Sequence[Feed], count: float) -> Job:
        return Job(lambda: make(files, feeds), count)

    rows, less = _rows(paths), _rows(quarter)
    return RowFigures(
        scan_ns=watch.each_ns(job(quarter, single, less), job(paths, single, rows)),
        set_ns=watch.each_ns(job(paths, single, rows), job(paths, three, 3 * rows)),
        partial_ns=watch.each_ns(
            job(paths, coarse, make(paths, coarse)), job(paths, fine, make(paths, fine))
        ),
    )


def _feeds(keys: Sequence[str], slide_ms: int = 3_600_000) -> tuple[Feed, ...]:
    """For a few conditions, and none; long slices have few partials whatever the rows."""
    conditions = ("", "proto = 'TCP'", "port = 443", *CONDITIONS[:4])
    synopses = [
        synopsis_for(number, [query(key, slide_ms, where, COUNTS) for where in conditions]).synopsis
        for number, key in enumerate(keys)
    ]
    return feeds_of(synopses)


def _rows(paths: Sequence[str]) -> int:
    return len(paths) * MODEL.rate
