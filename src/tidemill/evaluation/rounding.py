"""ROUND exactly as Spark does it.

For a double Spark takes the shortest decimal text of the value and rounds that half up, so
`ROUND(1.005, 2)` is 1.01 though the double lies below. Most values are far from a half and
can be rounded as doubles; the few near one go through their text.

>>> round_doubles(np.array([1.005, -0.4, 2.5]), 2).tolist()
[1.01, -0.4, 2.5]
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np

from tidemill.arrays import Array
from tidemill.evaluation.columns import MaskedColumn, numpy_type
from tidemill.evaluation.decimals import rescale, round_to
from tidemill.types import Type

# Enough digits for the longest double with any scale asked for.
_CONTEXT = Context(prec=1200, rounding=ROUND_HALF_UP)
# From here on every double is whole.
_WHOLE = 2.0**52
# Ten to this power is still exact as a double, so one division rounds correctly.
_EXACT_POWER = 22
# Scaling errs by less than this share of the value.
_SLACK = 2.0**-50


def round_column(column: MaskedColumn, source: Type, digits: int, result: Type) -> MaskedColumn:
    if source.is_decimal:
        return round_to(column, source, digits, result)
    if source.is_float:
        rounded = round_doubles(column.values.astype(np.float64), digits)
        return MaskedColumn(rounded.astype(numpy_type(result)), column.valid, column.raised)
    return column if digits >= 0 else _round_integers(column, digits)


def round_doubles(values: Array, digits: int) -> Array:
    """Rounded to `digits` places behind the point, half away from zero in decimal text."""
    rounded = values + 0.0
    below = np.isfinite(values) & (np.abs(values) < _WHOLE)
    easy = below & _far_from_half(values, digits)
    if digits <= _EXACT_POWER:
        scale = 10.0**digits
        rounded[easy] = np.rint(values[easy] * scale) / scale + 0.0
    hard = below & ~easy
    distinct, where = np.unique(values[hard], return_inverse=True)
    exact = np.array([_round_text(value, digits) for value in distinct.tolist()], float)
    rounded[hard] = exact[where]
    return rounded


def _far_from_half(values: Array, digits: int) -> Array:
    if digits > _EXACT_POWER:
        return np.zeros(values.shape, bool)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.abs(values) * 10.0**digits
        distance = np.abs(scaled - np.floor(scaled) - 0.5)
        return (scaled < _WHOLE) & (distance > scaled * _SLACK)


def _round_text(value: float, digits: int) -> float:
    unit = Decimal(1).scaleb(-digits)
    return float(Decimal(repr(value)).quantize(unit, context=_CONTEXT)) + 0.0


def _round_integers(column: MaskedColumn, digits: int) -> MaskedColumn:
    bounds = np.iinfo(column.values.dtype)
    exact = rescale(rescale(column.values.astype(object), digits), -digits)
    # Under a NULL may stand anything, so that it too may leave the type.
    beyond = np.asarray((exact < bounds.min) | (exact > bounds.max), bool)
    values = np.where(beyond, 0, exact).astype(column.values.dtype)
    over = column.valid & beyond
    return MaskedColumn(values, column.valid & ~over, column.raised | over)
