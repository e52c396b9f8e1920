"""CAST between the types handled on arrays; a value that does not fit is NULL and raised."""

from __future__ import annotations

import numpy as np

from tidemill.answer.expressions.columns import Computed, MaskedColumn, numpy_type
from tidemill.answer.expressions.decimals import fit, rescale
from tidemill.arrays import Array, BoolArray
from tidemill.types import Type


def cast_column(column: MaskedColumn, source: Type, target: Type) -> MaskedColumn:
    values, over = _cast(column.values, source, target)
    over = over & column.valid
    return MaskedColumn(values, column.valid & ~over, column.raised | over)


def _cast(values: Array, source: Type, target: Type) -> Computed:
    if source == target:
        return values, _fine(values)
    if target.name == "STRING":
        return _to_text(values, source)
    if target.name == "BOOLEAN":
        return np.asarray(values != 0, bool), _fine(values)
    if target.is_decimal:
        return _to_decimal(values, source, target)
    if target.is_integer:
        return _to_integer(values, source, target)
    return _to_float(values, source, target)


def _to_text(values: Array, source: Type) -> Computed:
    if source.name == "BOOLEAN":
        return np.where(values, "true", "false").astype(object), _fine(values)
    return values.astype(np.str_).astype(object), _fine(values)


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
        return values.astype(numpy_type(target)), _fine(values)


def _fine(values: Array) -> BoolArray:
    return np.zeros(values.shape, bool)
