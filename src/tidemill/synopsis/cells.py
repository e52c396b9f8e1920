"""Partial rows as arrays: one row per (group, slice), groups and slices numbered.

The same cells come from fresh partial rows (the fold), from pieces on disk (the answer)
and go back to disk (snapshots). Keys are compared as Spark compares them after grouping:
NULL equals NULL and NaN equals NaN; Catalyst has already made -0.0 into 0.0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidemill.aggregates import Encoded, Lane, decode, encode
from tidemill.aggregates.limbs import normalise
from tidemill.synopsis.model import Synopsis

IntArray = NDArray[np.int64]
SLICE = "slice"


@dataclass(frozen=True)
class Cells:
    """One row for each (group, slice) that occurs, in any order, with its lanes."""

    slices: IntArray
    slice_index: IntArray
    group: IntArray
    groups: pa.Table
    lanes: tuple[Encoded, ...]

    def __len__(self) -> int:
        return len(self.group)


def gather(synopsis: Synopsis, rows: pa.Table) -> Cells:
    """The cells of some partial rows; rows of one cell are combined."""
    group, groups = factorise(rows.select(synopsis.key_columns), len(rows))
    slices, slice_index = _number(_int64(rows.column(SLICE)))
    lanes = [
        encode(lane, [rows.column(name) for name in synopsis.lane_columns(number)])
        for number, lane in enumerate(synopsis.lanes)
    ]
    code = group * max(1, len(slices)) + slice_index
    if _all_differ(code):
        return Cells(slices, slice_index, group, groups, tuple(lanes))
    order = np.argsort(code, kind="stable")
    first = _run_starts(code[order])
    kept = order[first]
    merged = [_merge(lane, e, order, first) for lane, e in zip(synopsis.lanes, lanes, strict=True)]
    return Cells(slices, slice_index[kept], group[kept], groups, tuple(merged))


def scatter(synopsis: Synopsis, cells: Cells) -> pa.Table:
    """The partial rows back, sorted by slice: what a piece holds."""
    order = np.argsort(cells.slice_index, kind="stable")
    columns: dict[str, Any] = {SLICE: pa.array(cells.slices[cells.slice_index[order]])}
    for name in synopsis.key_columns:
        columns[name] = cells.groups.column(name).take(pa.array(cells.group[order]))
    for number, lane in enumerate(synopsis.lanes):
        arrays = decode(lane, cells.lanes[number].take(order))
        columns.update(zip(synopsis.lane_columns(number), arrays, strict=True))
    _note_overflows(synopsis, cells, order, columns)
    return pa.table(columns)


def _note_overflows(
    synopsis: Synopsis, cells: Cells, order: IntArray, columns: dict[str, Any]
) -> None:
    """A merged decimal sum that has no digits left is written as NULL: its cell must say so."""
    for number, lane in enumerate(synopsis.lanes):
        if lane.kind != "overflow":
            continue
        place = synopsis.lanes.index(replace(lane, kind="sum"))
        (sums,), (flags,) = synopsis.lane_columns(place), synopsis.lane_columns(number)
        had = cells.lanes[place].take(order).valid
        lost = (
            columns[sums].is_null()
            if had is None
            else pc.and_(columns[sums].is_null(), pa.array(had))
        )
        columns[flags] = pc.add(columns[flags], lost.cast(pa.int64()))


def factorise(keys: pa.Table, rows: int) -> tuple[IntArray, pa.Table]:
    """A dense number for each distinct key, and the keys in the order of their numbers."""
    if not keys.column_names:
        return np.zeros(rows, dtype=np.int64), pa.table({"_": pa.nulls(min(1, rows))}).select([])
    code: IntArray = np.zeros(rows, dtype=np.int64)
    for column in keys.columns:
        codes, distinct = _codes(column.combine_chunks())
        code, _ = _codes(pa.array(code * distinct + codes))
    first = np.full(int(code.max()) + 1 if rows else 0, rows, dtype=np.int64)
    np.minimum.at(first, code, np.arange(rows))
    return code, keys.take(pa.array(first))


def _codes(column: pa.Array) -> tuple[IntArray, int]:
    # Hashing, not sorting: five times faster than np.unique on a million keys.
    coded = pc.dictionary_encode(column, null_encoding="encode")
    return _int64(coded.indices), max(1, len(coded.dictionary))


def _int64(column: pa.Array | pa.ChunkedArray) -> IntArray:
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _number(starts: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct starts, ascending, and the place of each row's among them."""
    coded = pc.dictionary_encode(pa.array(starts))
    distinct = _int64(coded.dictionary)
    order = np.argsort(distinct)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return distinct[order], place[_int64(coded.indices)]


def _all_differ(code: IntArray) -> bool:
    """Whether it is plain that no cell has two rows; counting is cheap where cells are dense."""
    if not len(code) or int(code.max()) > 8 * len(code):
        return not len(code)
    return int(np.bincount(code).max()) == 1


def _run_starts(code: IntArray) -> IntArray:
    if not len(code):
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate(([True], code[1:] != code[:-1])))


def _merge(lane: Lane, encoded: Encoded, order: IntArray, first: IntArray) -> Encoded:
    taken = encoded.take(order)
    if len(first) == len(order):
        return taken
    values = taken.values
    if taken.valid is not None:
        absent = ~taken.valid
        values = values.copy()
        values[absent] = lane.algebra.identity
    merged = lane.algebra.combine.reduceat(values, first, axis=0)
    valid = None if taken.valid is None else np.logical_or.reduceat(taken.valid, first)
    return Encoded(_renormalised(merged), valid, taken.dictionary)


def _renormalised(values: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(normalise(values)) if values.ndim == 2 else values
