"""Lanes of rows ⇒ lanes of groups, by scatter: no row is sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidemill.aggregates import Encoded, Lane
from tidemill.aggregates.limbs import normalise, split_int64
from tidemill.spark.columnar.chunk import Chunk, Column

Array = NDArray[Any]
IntArray = NDArray[np.int64]


def lift(lane: Lane, chunk: Chunk, rows: Array | None, ids: IntArray, count: int) -> Encoded:
    """The lane of so many groups; `ids` are the groups of the rows named, or of all."""
    if lane.argument is None:
        return Encoded(np.bincount(ids, minlength=count), None)
    column = chunk.column(lane.argument.columns[0])
    valid = column.valid if rows is None or column.valid is None else column.valid[rows]
    if lane.kind == "count":
        return Encoded(np.bincount(ids if valid is None else ids[valid], minlength=count), None)
    return combine(lane, Encoded(_lifted(lane, column, rows, len(ids)), valid), ids, count)


def _lifted(lane: Lane, column: Column, rows: Array | None, count: int) -> Array:
    values = column.numbers if rows is None else column.numbers[rows]
    if len(lane.parts) < 2 or not count:
        return split_int64(values) if len(lane.parts) == 2 else values
    # Nearly always the sum of all rows fits 64 bits; limbs are then split per group.
    largest = max(-int(values.min()), int(values.max()))
    return values if largest * count < 2**63 else split_int64(values)


def combine(lane: Lane, encoded: Encoded, ids: IntArray, count: int) -> Encoded:
    """Rows or groups of the lane put together into so many groups."""
    values, valid = encoded.values, None
    if encoded.valid is not None:
        valid = np.zeros(count, dtype=np.bool_)
        valid[ids[encoded.valid]] = True
        values, ids = values[encoded.valid], ids[encoded.valid]
    found = _scattered(lane, values, ids, count)
    if len(lane.parts) == 2:
        found = np.asarray(normalise(found)) if found.ndim == 2 else split_int64(found)
    if valid is None or valid.all():
        return Encoded(found, None)
    found[~valid] = 0
    return Encoded(found, valid)


def _scattered(lane: Lane, values: Array, ids: IntArray, count: int) -> Array:
    if values.ndim == 2:
        parts = [_scattered(lane, part, ids, count) for part in values.T]
        return np.stack(parts, axis=1)
    found = np.full(count, lane.algebra.identity, dtype=values.dtype)
    merge: Any = lane.algebra.combine
    # Infinities of both signs make NaN, as they do in Spark.
    with np.errstate(invalid="ignore", over="ignore"):
        merge.at(found, ids, np.ascontiguousarray(values))
    return found
