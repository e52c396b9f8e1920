"""Arithmetic, comparisons and casts as Spark's ANSI mode does them, with the rows that raise.

Integers are checked exactly; division and remainder by zero count for floats too, while an
overflow to infinity does not. A value that does not fit the type of a cast is NULL and raised.
"""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array, BoolArray
from tidemill.evaluation.columns import Computed, MaskedColumn, numpy_type
from tidemill.evaluation.decimals import fit, rescale
from tidemill.types import Type

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


def cast_column(column: MaskedColumn, source: Type, target: Type) -> MaskedColumn:
    values, over = _cast(column.values, source, target)
    over = over & column.valid
    return MaskedColumn(values, column.valid & ~over, column.raised | over)


def _cast(values: Array, source: Type, target: Type) -> Computed:
    if source == target:
        return values, _never(values)
    if target.name == "STRING":
        return _to_text(values, source)
    if target.name == "BOOLEAN":
        return np.asarray(values != 0, bool), _never(values)
    if target.is_decimal:
        return _to_decimal(values, source, target)
    if target.is_integer:
        return _to_integer(values, source, target)
    return _to_float(values, source, target)


def _to_text(values: Array, source: Type) -> Computed:
    if source.name == "BOOLEAN":
        return np.where(values, "true", "false").astype(object), _never(values)
    return values.astype(np.str_).astype(object), _never(values)


def _to_decimal(values: Array, source: Type, target: Type) -> Computed:
    # A boolean counts as 0 or 1.
    wide = (values.astype(np.int8) if values.dtype == bool else values).astype(object)
    return fit(rescale(wide, target.scale - source.scale), target)


def _to_integer(values: Array, source: Type, target: Type) -> Computed:
    if source.is_float:
        return _float_to_integer(values, target)
    if source.is_decimal and source.scale:
        size = np.abs(values) // 10**source.scale
        values = np.where(values < 0, -size, size)
    if values.dtype == bool:
        values = values.astype(np.int64)
    bounds = np.iinfo(numpy_type(target))
    over = np.asarray((values < bounds.min) | (values > bounds.max), bool)
    return np.where(over, 0, values).astype(numpy_type(target)), over


def _float_to_integer(values: Array, target: Type) -> Computed:
    """Cut towards zero; two to the 63rd still counts as the largest BIGINT, as in Spark."""
    bounds = np.iinfo(numpy_type(target))
    wide = np.trunc(values.astype(np.float64))
    over = ~((wide >= bounds.min) & (wide <= float(bounds.max)))
    top = wide >= 2.0**63
    integers = np.where(over | top, 0, wide).astype(np.int64)
    return np.where(top & ~over, bounds.max, integers).astype(numpy_type(target)), over


def _to_float(values: Array, source: Type, target: Type) -> Computed:
    if source.is_decimal:
        # Python divides integers with one correct rounding, whatever their length.
        values = values.astype(object) / 10**source.scale
    with np.errstate(over="ignore"):
        return values.astype(numpy_type(target)), _never(values)


def _unless_lowest(column: MaskedColumn, values: Array) -> MaskedColumn:
    if values.dtype.kind != "i":
        return MaskedColumn(values, column.valid, column.raised)
    lowest = column.valid & (column.values == np.iinfo(values.dtype).min)
    return MaskedColumn(values, column.valid & ~lowest, column.raised | lowest)


def _never(values: Array) -> BoolArray:
    return np.zeros(values.shape, bool)
