"""Bags from partial rows and from pieces, and back.

A partial row has one value with its count or its sum. In a piece a cell has lists: of values,
as codes into the piece's dictionary, and of what each weighs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates import bags
from tidemill.aggregates.bags import Bags
from tidemill.aggregates.encoding import flat
from tidemill.aggregates.lanes import Lane
from tidemill.aggregates.limbs import normalise, split_decimal, to_decimal
from tidemill.arrays import Array
from tidemill.plan.functions.basic import sum_type


def encode(lane: Lane, columns: Sequence[pa.ChunkedArray]) -> Bags:
    """The bags of some rows, from the columns named by `lane.parts`."""
    values, *weights = (flat(column) for column in columns)
    if pa.types.is_list(values.type):
        return bags.from_lists(values, weights, lambda found: _weights(lane, found))
    # What has no weight is not there, as what has no value.
    known = pc.if_else(pc.is_valid(weights[0]), values, pa.scalar(None, values.type))
    return bags.from_rows(known, _weights(lane, weights))


def decode(lane: Lane, found: Bags) -> list[pa.Array]:
    """The columns of a piece."""
    whole = found.compact()
    if lane.kind == "weights" and lane.summed.type.is_decimal:
        wide = sum_type(lane.summed.type)
        return bags.to_lists(whole, [to_decimal(whole.weights.T, wide.precision, wide.scale)])
    kept = (row if row.dtype.kind == "f" else bags.shortest(row) for row in whole.weights)
    return bags.to_lists(whole, [pa.array(np.ascontiguousarray(row)) for row in kept])


def absent(lane: Lane, rows: int) -> Bags:
    """The bags of rows from before they were kept."""
    return bags.none(rows, lane.type.arrow, np.zeros((limbs_of(lane), 0), dtype_of(lane)))


def dtype_of(lane: Lane) -> Any:
    """Of weights."""
    return np.float64 if lane.kind == "weights" and lane.summed.type.is_float else np.int64


def limbs_of(lane: Lane) -> int:
    """How many numbers make up a weight."""
    if lane.kind == "counts":
        return 1
    return 4 if lane.summed.type.is_decimal else len(lane.summed.parts)


def carried(weights: Array) -> Array:
    """Limbs with carries moved up; single numbers are as they are."""
    if len(weights) == 1:
        return weights
    return np.ascontiguousarray(normalise(weights.T).T)


def _weights(lane: Lane, columns: Sequence[pa.Array]) -> Array:
    if lane.kind == "weights" and lane.summed.type.is_decimal:
        return np.ascontiguousarray(split_decimal(columns[0]).T)
    rows = [pc.fill_null(column, 0) for column in columns]
    numbers = [np.asarray(row.to_numpy(zero_copy_only=False), dtype_of(lane)) for row in rows]
    return carried(np.stack(numbers))
