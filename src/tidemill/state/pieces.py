"""Pieces: immutable files of partial rows, named once, mapped into memory when read.

A piece holds the rows of several buckets, each bucket a contiguous run sorted by slice. Its rows
are coded: the start of a slice, the keys of a group and the words of a signature stand in the
piece once, and in each row is their number. Piece names are unique per attempt, so a task that
is run twice leaves a stray file and never a wrong one; only pieces named in a committed tick
exist.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates import Encoded, Lane, LaneArray
from tidemill.aggregates.encoded import flat
from tidemill.aggregates.lanes import Overflow
from tidemill.aggregates.numbering import factorise
from tidemill.arrays import IntArray
from tidemill.state.buckets import buckets_of
from tidemill.state.cells import Cells, merged
from tidemill.state.synopsis import Partials
from tidemill.windows import BEGINNING_US

SLICE, GROUP, SIGNATURE = "slice", "group", "signature"


@dataclass(frozen=True)
class Piece:
    """A file in the manifest, with enough of it to plan without opening it."""

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
    write_arrow_file(folder / name, table)
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


def signed_slices(
    folder: Path, partials: Partials, pieces: Sequence[Piece], until_us: int
) -> tuple[IntArray, IntArray]:
    """The slices that start before a time and have rows in these pieces, with the signatures of
    those: the start of a slice and the words of a signature, each pair at most once a bucket."""
    words = len(partials.signature_columns)
    starts, signatures = [np.zeros(0, np.int64)], [np.zeros((0, words), np.int64)]
    for piece in pieces:
        if piece.slices[0] >= until_us:
            continue
        for bucket, _, _ in piece.spans:
            columns = _Signed(partials.signature_columns)
            cells = read_bucket(folder, columns, piece, bucket, BEGINNING_US, until_us)
            count = len(cells.signatures)
            pairs = np.unique(cells.slice_index.astype(np.int64) * count + cells.signature)
            starts.append(cells.slices[pairs // count])
            signatures.append(cells.signatures[pairs % count])
    return np.concatenate(starts), np.concatenate(signatures)


@dataclass(frozen=True)
class _Signed:
    """Partial rows without keys and lanes."""

    signature_columns: tuple[str, ...]
    key_columns: tuple[str, ...] = ()
    lanes: tuple[Lane, ...] = ()

    def lane_columns(self, position: int) -> tuple[str, ...]:
        raise IndexError(position)

    def lane_source(self, position: int) -> None:
        raise IndexError(position)


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


def write_arrow_file(path: Path, table: pa.Table) -> None:
    """On disk before it returns."""
    with path.open("wb") as file:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        file.flush()
        os.fsync(file.fileno())


def gather(partials: Partials, rows: pa.Table) -> Cells:
    """The cells of the rows of a sub-aggregation; those of one cell are combined."""
    keys = rows.select(partials.key_columns)
    group, first_rows = factorise(keys, len(rows))
    slices, slice_index = np.unique(rows.column(SLICE).to_numpy(), return_inverse=True)
    words = rows.select(partials.signature_columns)
    signature, one_of_each = factorise(words, len(rows))
    cells = Cells(
        slices=slices,
        slice_index=slice_index,
        group=group,
        groups=_take_rows(keys, first_rows),
        signature=signature,
        signatures=_words(partials, _take_rows(words, one_of_each)),
        lanes=_lanes(partials, rows),
    )
    return merged(partials.lanes, cells)


def code_rows(partials: Partials, cells: Cells, order: IntArray) -> pa.Table:
    """The cells as rows of a piece, in this order."""
    columns: dict[str, Any] = {
        SLICE: _numbered(cells.slice_index[order], pa.array(cells.slices)),
    }
    if partials.key_columns:
        columns[GROUP] = _numbered(cells.group[order], _structs(cells.groups))
    if partials.signature_columns:
        words = dict(zip(partials.signature_columns, cells.signatures.T, strict=True))
        columns[SIGNATURE] = _numbered(cells.signature[order], _structs(pa.table(words)))
    for place, lane in enumerate(partials.lanes):
        arrays = lane.decode(cells.lanes[place].take(order))
        columns.update(zip(partials.lane_columns(place), arrays, strict=False))
    _note_overflows(partials, cells, order, columns)
    return pa.table(columns)


def decode_rows(partials: Partials, rows: pa.Table) -> Cells:
    """The cells of some rows of a piece."""
    slice_index, slices = _parted(rows, SLICE)
    group, groups, signature = np.zeros(len(rows), np.int64), pa.table({}), None
    if partials.key_columns:
        group, keys = _parted(rows, GROUP)
        groups = pa.Table.from_struct_array(keys)
    words = pa.table({})
    if SIGNATURE in rows.column_names:
        signature, distinct = _parted(rows, SIGNATURE)
        words = pa.Table.from_struct_array(distinct)
    return Cells(
        slices=slices.to_numpy(),
        slice_index=slice_index,
        group=group,
        groups=groups,
        signature=np.zeros(len(rows), np.int64) if signature is None else signature,
        signatures=_words(partials, words),
        lanes=_lanes(partials, rows),
    )


def _numbered(numbers: IntArray, values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32)), values)


def _parted(rows: pa.Table, name: str) -> tuple[IntArray, pa.Array]:
    """Numbers and the values that they may be: a bucket's are neighbours among all."""
    column = flat(rows.column(name))
    numbers = column.indices.to_numpy()
    if not len(numbers):
        return numbers, column.dictionary.slice(0, 0)
    low, high = int(numbers.min()), int(numbers.max())
    return numbers - low, column.dictionary.slice(low, high - low + 1)


def _take_rows(table: pa.Table, rows: IntArray) -> pa.Table:
    return table.take(pa.array(rows)) if table.column_names else table


def _structs(table: pa.Table) -> pa.Array:
    return table.to_struct_array().combine_chunks()


def _words(partials: Partials, words: pa.Table) -> IntArray:
    """One row for each signature; rows from before there was a word have none of its bits."""
    signatures = np.zeros((max(1, len(words)), len(partials.signature_columns)), dtype=np.int64)
    for place, name in enumerate(partials.signature_columns):
        if name in words.column_names:
            signatures[: len(words), place] = pc.fill_null(words.column(name), 0).to_numpy()
    return signatures


def _lanes(partials: Partials, rows: pa.Table) -> tuple[LaneArray, ...]:
    return tuple(_lane(partials, rows, place) for place in range(len(partials.lanes)))


def _lane(partials: Partials, rows: pa.Table, place: int) -> LaneArray:
    """A lane of the rows; pieces from before it was there do not have its columns."""
    lane, source = partials.lanes[place], partials.lane_source(place)
    if columns := _columns(rows, partials.lane_columns(place)):
        return lane.encode(columns)
    if source and (columns := _columns(rows, source.columns)):
        return cast(LaneArray, lane.derived(source.lane.encode(columns)))
    return lane.absent(len(rows))


def _columns(rows: pa.Table, names: Sequence[str]) -> list[pa.Array]:
    """Those of the columns that there are."""
    return [flat(rows.column(name)) for name in names if name in rows.column_names]


def _note_overflows(
    partials: Partials, cells: Cells, order: IntArray, columns: dict[str, Any]
) -> None:
    """A merged decimal sum that has no digits left is written as NULL: its cell must say so."""
    for number, lane in enumerate(partials.lanes):
        if not isinstance(lane, Overflow):
            continue
        place = partials.lanes.index(lane.sum)
        (sums,), (flags,) = partials.lane_columns(place), partials.lane_columns(number)
        sum_lane = cells.lanes[place]
        assert isinstance(sum_lane, Encoded)
        had = sum_lane.take(order).valid
        lost = (
            columns[sums].is_null()
            if had is None
            else pc.and_(columns[sums].is_null(), pa.array(had))
        )
        columns[flags] = pc.add(columns[flags], lost.cast(pa.int64()))
