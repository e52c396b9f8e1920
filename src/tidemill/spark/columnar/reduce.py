"""Lanes of rows ⇒ lanes of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidemill.aggregates import Encoded, Lane
from tidemill.spark.columnar.chunk import Chunk
from tidemill.synopsis.combining import combined

Array = NDArray[Any]
IntArray = NDArray[np.int64]


def lift(lane: Lane, chunk: Chunk, rows: Array | None, ids: IntArray, count: int) -> Encoded:
    """The lane of so many groups; `ids` are the groups of the rows named, or of all."""
    if lane.argument is None:
        return Encoded(np.bincount(ids, minlength=count), None)
    column = chunk.column(lane.argument.columns[0])
    if lane.kind == "count":
        known = column.valid if rows is None or column.valid is None else column.valid[rows]
        return Encoded(np.bincount(ids if known is None else ids[known], minlength=count), None)
    return combined(lane, Encoded(column.numbers, column.valid), ids, count, rows)
