"""Pieces: immutable files of partial rows, named once, mapped into memory when read.

A piece holds the rows of several buckets, each bucket a contiguous run sorted by slice.
Piece names are unique per attempt, so a task that is run twice leaves a stray file and
never a wrong one; only pieces named in a committed tick exist.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidemill.synopsis.cells import SLICE


@dataclass(frozen=True)
class Piece:
    """What the manifest says of one file: enough to plan without opening it."""

    name: str
    rows: int
    size: int
    slices: tuple[int, ...]
    spans: tuple[tuple[int, int, int], ...]  # (bucket, first row, rows)

    @property
    def last_us(self) -> int:
        return self.slices[-1]

    def span(self, bucket: int) -> tuple[int, int] | None:
        return next(((at, n) for b, at, n in self.spans if b == bucket), None)


def write_piece(folder: Path, by_bucket: dict[int, pa.Table]) -> Piece | None:
    """One new piece with these rows, on disk before it is returned; None if there are none."""
    tables = {bucket: table for bucket, table in sorted(by_bucket.items()) if len(table)}
    if not tables:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{uuid.uuid4().hex}.arrow"
    whole = pa.concat_tables(map(_plain, tables.values())).combine_chunks()
    _write(folder / name, whole)
    slices = np.unique(whole.column(SLICE).to_numpy())
    return Piece(
        name, len(whole), (folder / name).stat().st_size, tuple(slices.tolist()), _spans(tables)
    )


def read_bucket(folder: Path, piece: Piece, bucket: int, low_us: int, high_us: int) -> pa.Table:
    """The rows of one bucket whose slice starts in `[low_us, high_us)`, without copying."""
    with pa.memory_map(str(folder / piece.name)) as source:
        table = pa.ipc.open_file(source).read_all()
    span = piece.span(bucket)
    if span is None:
        return table.slice(0, 0)
    run = table.slice(*span)
    starts = run.column(SLICE).to_numpy()
    low, high = np.searchsorted(starts, [low_us, high_us])
    return run.slice(int(low), int(high - low))


def _plain(table: pa.Table) -> pa.Table:
    """All pieces of a synopsis have one schema, whoever made the columns and declared what."""
    return table.cast(pa.schema([(field.name, field.type) for field in table.schema]))


def _write(path: Path, table: pa.Table) -> None:
    with path.open("wb") as file:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        file.flush()
        os.fsync(file.fileno())


def _spans(tables: dict[int, pa.Table]) -> tuple[tuple[int, int, int], ...]:
    spans, at = [], 0
    for bucket, table in tables.items():
        spans.append((bucket, at, len(table)))
        at += len(table)
    return tuple(spans)
