"""Decimal arithmetic on unscaled integers, exact, then rounded half up to the result's scale.

The same lines serve `int64` and arrays of Python integers; `_wide` picks the first while
nothing in between can pass 18 digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tidemill.arrays import Array, BoolArray
from tidemill.evaluation.columns import INT64_DIGITS, Computed, MaskedColumn, numpy_type
from tidemill.types import Type

# Spark divides to this scale first and rounds the quotient again to the result's scale.
_QUOTIENT_SCALE = 39


def rescale(values: Array, by: int) -> Array:
    """Values times 10**by; digits that fall off round half away from zero."""
    if by >= 0:
        return np.asarray(values * 10**by)
    unit = 10**-by
    size = np.abs(values)
    units = size // unit
    units = units + (size - units * unit >= unit - unit // 2)
    return np.asarray(np.where(values < 0, -units, units))


def fit(values: Array, type: Type) -> Computed:
    """Values as stored for the type, and those that have too many digits for it."""
    limit = 10**type.precision
    over = np.asarray(np.abs(values) >= limit, bool) if _can_reach(values, limit) else _none(values)
    return np.where(over, 0, values).astype(numpy_type(type)), over


def add_decimals(left: Array, right: Array, types: tuple[Type, Type], result: Type) -> Computed:
    return _aligned(left, right, types, result, np.add)


def subtract_decimals(
    left: Array, right: Array, types: tuple[Type, Type], result: Type
) -> Computed:
    return _aligned(left, right, types, result, np.subtract)


def multiply_decimals(
    left: Array, right: Array, types: tuple[Type, Type], result: Type
) -> Computed:
    digits = types[0].precision + types[1].precision
    product = _wide(left, digits) * _wide(right, digits)
    return fit(rescale(product, result.scale - types[0].scale - types[1].scale), result)


def divide_decimals(left: Array, right: Array, types: tuple[Type, Type], result: Type) -> Computed:
    """Quotient; a zero divisor is marked with the rows that do not fit."""
    zero = np.asarray(right == 0, bool)
    over, under = left.astype(object), np.where(zero, 1, right).astype(object)
    shift = _QUOTIENT_SCALE + types[1].scale - types[0].scale
    size, divisor = np.abs(over) * 10**shift, np.abs(under)
    quotient = (2 * size + divisor) // (2 * divisor)
    signed = np.where((over < 0) != (under < 0), -quotient, quotient)
    values, outside = fit(rescale(signed, result.scale - _QUOTIENT_SCALE), result)
    return values, outside | zero


def remainder_of_decimals(
    left: Array, right: Array, types: tuple[Type, Type], result: Type
) -> Computed:
    """The rest of the division, with the sign of the dividend."""
    zero = np.asarray(right == 0, bool)
    scale, digits = _alignment(types)
    over = rescale(_wide(left, digits), scale - types[0].scale)
    under = rescale(_wide(np.where(zero, 1, right), digits), scale - types[1].scale)
    size = np.abs(over) % np.abs(under)
    values, outside = fit(rescale(np.where(over < 0, -size, size), result.scale - scale), result)
    return values, outside | zero


def round_to(column: MaskedColumn, source: Type, digits: int, result: Type) -> MaskedColumn:
    """`ROUND(column, digits)`."""
    if digits >= source.scale:
        rounded = column.values
    else:
        dropped = digits - source.scale
        rounded = rescale(_wide(column.values, source.precision - dropped), dropped)
        rounded = rescale(_wide(rounded, source.precision - dropped + 1), max(-digits, 0))
    values, over = fit(rounded, result)
    over = over & column.valid
    return MaskedColumn(values, column.valid & ~over, column.raised | over)


def _aligned(
    left: Array,
    right: Array,
    types: tuple[Type, Type],
    result: Type,
    operation: Callable[[Array, Array], Array],
) -> Computed:
    scale, digits = _alignment(types)
    sides = [
        rescale(_wide(values, digits), scale - type.scale)
        for values, type in zip((left, right), types, strict=True)
    ]
    return fit(rescale(operation(*sides), result.scale - scale), result)


def _alignment(types: tuple[Type, Type]) -> tuple[int, int]:
    scale = max(type.scale for type in types)
    return scale, max(type.precision - type.scale for type in types) + scale + 1


def _wide(values: Array, digits: int) -> Array:
    return values.astype(np.int64 if digits <= INT64_DIGITS else object)


def _can_reach(values: Array, limit: int) -> bool:
    return values.dtype == object or limit < 1 << 63


def _none(values: Array) -> BoolArray:
    return np.zeros(values.shape, bool)
