"""Partial rows ⇔ cells: rows of a sub-aggregation in, rows of a piece out and in again.

Rows of a piece are coded: the start of a slice, the keys of a group and the words of a
signature stand in the piece once, and in each row is their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates import Encoded, LaneArray
from tidemill.aggregates.encoded import flat
from tidemill.aggregates.lanes import Overflow
from tidemill.aggregates.numbering import factorise
from tidemill.arrays import IntArray
from tidemill.state.cells import Cells, merged
from tidemill.state.synopsis import Partials

SLICE, GROUP, SIGNATURE = "slice", "group", "signature"


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
    names = [name for name in partials.lane_columns(place) if name in rows.column_names]
    lane = partials.lanes[place]
    if not names:
        return lane.absent(len(rows))
    return lane.encode([flat(rows.column(name)) for name in names])


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
