"""Integer and floating arithmetic as Spark's ANSI mode does it, with the rows that would raise.

Integers are checked exactly; division and remainder by zero count for floats too, while an
overflow to infinity does not.
"""

from __future__ import annotations

import numpy as np

from tidemill.answer.expressions.columns import Computed, MaskedColumn
from tidemill.arrays import Array, BoolArray

# Products below this are surely right in 64 bits even as a double estimates them.
_SURE_PRODUCT = 2.0**62


def add(left: Array, right: Array) -> Computed:
    total = left + right
    if left.dtype.kind == "f":
        return total, _never(total)
    return total, ((left ^ total) & (right ^ total)) < 0


def subtract(left: Array, right: Array) -> Computed:
    difference = left - right
    if left.dtype.kind == "f":
        return difference, _never(difference)
    return difference, ((left ^ right) & (left ^ difference)) < 0


def multiply(left: Array, right: Array) -> Computed:
    product = left * right
    if left.dtype.kind == "f":
        return product, _never(product)
    unsure = np.abs(left.astype(float) * right.astype(float)) >= _SURE_PRODUCT
    if left.dtype != np.int64:
        return product, product != left.astype(np.int64) * right.astype(np.int64)
    over = _never(product)
    if not unsure.any():
        return product, over
    left, right = np.broadcast_arrays(left, right)
    exact = left[unsure].astype(object) * right[unsure].astype(object)
    over[unsure] = np.asarray(exact != product[unsure], bool)
    return product, over


def divide(left: Array, right: Array) -> Computed:
    zero = right == 0
    return left / np.where(zero, 1, right), zero


def whole_divide(left: Array, right: Array) -> Computed:
    """DIV: the quotient cut towards zero."""
    zero = right == 0
    over = (left == np.iinfo(left.dtype).min) & (right == -1)
    divisor = np.where(zero | over, 1, right)
    return (left - np.fmod(left, divisor)) // divisor, zero | over


def remainder(left: Array, right: Array) -> Computed:
    """The sign is the dividend's, as in Java."""
    zero = right == 0
    return np.fmod(left, np.where(zero, 1, right).astype(right.dtype)), zero


def negate(column: MaskedColumn) -> MaskedColumn:
    return _unless_lowest(column, -column.values)


def absolute(column: MaskedColumn) -> MaskedColumn:
    return _unless_lowest(column, np.abs(column.values))


def less(left: Array, right: Array) -> BoolArray:
    """Below in Spark's order, where NaN stands above every number."""
    if left.dtype.kind != "f":
        return np.asarray(left < right, bool)
    return (left < right) | (~np.isnan(left) & np.isnan(right))


def equal(left: Array, right: Array) -> BoolArray:
    """Equal as Spark sees it: NaN is itself, zero has no sign."""
    same = np.asarray(left == right, bool)
    return same if left.dtype.kind != "f" else same | (np.isnan(left) & np.isnan(right))


def _unless_lowest(column: MaskedColumn, values: Array) -> MaskedColumn:
    if values.dtype.kind != "i":
        return MaskedColumn(values, column.valid, column.raised)
    lowest = column.valid & (column.values == np.iinfo(values.dtype).min)
    return MaskedColumn(values, column.valid & ~lowest, column.raised | lowest)


def _never(values: Array) -> BoolArray:
    return np.zeros(values.shape, bool)
