"""The values of an expression over the columns of a chunk, with what raised NULL and counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.aggregates.columns import ColumnRows
from tidemill.evaluation.columns import (
    ALL_VALID,
    NONE_RAISED,
    MaskedColumn,
    numpy_type,
    to_arrow,
)
from tidemill.evaluation.finish import evaluate_column
from tidemill.plan.expressions import Node, Slot

ReadColumn = Callable[[str], ColumnRows]


@dataclass(frozen=True)
class ComputedValues:
    """One value for each row, in the type of the expression."""

    array: pa.Array
    raised: int  # rows for which Spark would have raised; they are NULL


def compute(node: Node, read: ReadColumn, rows: int) -> ComputedValues:
    """The expression in so many rows, whose columns are read by name."""
    column = evaluate_column(node, lambda slot: _masked(slot, read(slot.name)), null_spares=False)
    full = column.spread((rows,))
    return ComputedValues(to_arrow(full, node.type), int(np.count_nonzero(full.raised)))


def _masked(slot: Slot, column: ColumnRows) -> MaskedColumn:
    values = column.numbers.astype(numpy_type(slot.type), copy=False)
    return MaskedColumn(values, ALL_VALID if column.valid is None else column.valid, NONE_RAISED)
