"""Pieces: immutable files of partial rows, named once, mapped into memory when read.

A piece holds the rows of several buckets, each bucket a contiguous run sorted by slice.
Piece names are unique per attempt, so a task that is run twice leaves a stray file and
never a wrong one; only pieces named in a committed tick exist.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidemill.aggregates.encoded import flat
from tidemill.arrays import IntArray
from tidemill.state.buckets import buckets_of
from tidemill.state.cells import Cells
from tidemill.state.partial_rows import SLICE, code_rows, decode_rows
from tidemill.state.synopsis import Partials


@dataclass(frozen=True)
class Piece:
    """What the manifest says of one file: enough to plan without opening it."""

    name: str
    rows: int
    size: int
    slices: tuple[int, ...]
    spans: tuple[tuple[int, int, int], ...]  # (bucket, first row, rows)
    value_bytes: int = 0  # of the values that are counted in it

    @property
    def last_us(self) -> int:
        return self.slices[-1]

    def span(self, bucket: int) -> tuple[int, int] | None:
        return next(((at, n) for b, at, n in self.spans if b == bucket), None)


def write_piece(folder: Path, partials: Partials, cells: Cells, buckets: int) -> Piece | None:
    """One new piece with these cells, on disk before it is returned; None if there are none."""
    if not len(cells):
        return None
    cells, bucket = _by_bucket(cells, buckets)
    table = code_rows(partials, cells, _order(cells, bucket))
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{uuid.uuid4().hex}.arrow"
    _write(folder / name, table)
    counts = np.bincount(bucket[cells.group])
    first = np.cumsum(counts) - counts
    spans = [(int(b), int(first[b]), int(counts[b])) for b in np.flatnonzero(counts)]
    used = np.bincount(cells.slice_index, minlength=len(cells.slices)) > 0
    size = (folder / name).stat().st_size
    slices = tuple(cells.slices[used].tolist())
    return Piece(name, len(cells), size, slices, tuple(spans), _value_bytes(partials, table))


def read_bucket(
    folder: Path, partials: Partials, piece: Piece, bucket: int, low_us: int, high_us: int
) -> Cells:
    """The cells of one bucket whose slice starts in `[low_us, high_us)`."""
    with pa.memory_map(str(folder / piece.name)) as source:
        table = pa.ipc.open_file(source).read_all()
    run = table.slice(*(piece.span(bucket) or (0, 0)))
    coded = flat(run.column(SLICE))
    bounds = np.searchsorted(coded.dictionary.to_numpy(), [low_us, high_us])
    low, high = np.searchsorted(coded.indices.to_numpy(), bounds)
    return decode_rows(partials, run.slice(int(low), int(high - low)))


def _by_bucket(cells: Cells, buckets: int) -> tuple[Cells, IntArray]:
    """The cells with those groups next to each other that share a bucket, and each one's."""
    if not cells.groups.column_names:
        return cells, np.zeros(1, np.int64)
    bucket = buckets_of(cells.groups, buckets)
    order = np.argsort(bucket, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    moved = replace(cells, group=place[cells.group], groups=cells.groups.take(pa.array(order)))
    return moved, bucket[order]


def _order(cells: Cells, bucket: IntArray) -> IntArray:
    code = bucket[cells.group] * len(cells.slices) + cells.slice_index
    # NumPy sorts 16-bit integers by radix, several times as fast as wider ones.
    few = (int(bucket[-1]) + 1) * len(cells.slices) <= 2**16
    return np.argsort(code.astype(np.uint16) if few else code, kind="stable")


def _value_bytes(partials: Partials, table: pa.Table) -> int:
    bags = (place for place, lane in enumerate(partials.lanes) if lane.counts_values)
    names = (name for place in bags for name in partials.lane_columns(place))
    return sum(table.column(name).nbytes for name in names)


def _write(path: Path, table: pa.Table) -> None:
    with path.open("wb") as file:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        file.flush()
        os.fsync(file.fileno())
