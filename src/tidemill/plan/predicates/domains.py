"""Constants as points on the number line of a column's type.

Integers, dates, timestamps, booleans and decimals count in whole steps (days, microseconds,
units of the last digit); texts are their UTF-8 bytes, which is how Spark orders them. FLOAT and
DOUBLE are left out: NaN and the two zeros do not fit on a line.

>>> from tidemill.types import INT
>>> fast = compared("gt", Decimal("80.5"), INT)
>>> 80 in fast, 81 in fast
(False, True)
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from tidemill.plan.expressions import Value
from tidemill.plan.predicates.values import (
    NOT_NULL,
    NOTHING,
    NULL_ONLY,
    CutPoint,
    ValueSet,
    at_least,
)
from tidemill.types import INTEGER_BITS, Type

_BITS = {**INTEGER_BITS, "DATE": 32, "TIMESTAMP": 64}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne", "same": "same"}


def has_line(type: Type) -> bool:
    """Whether the values of the type are points on a line."""
    return type.is_decimal or type.name in _BITS or type.name in ("BOOLEAN", "STRING")


def compared(op: str, value: Value, type: Type) -> ValueSet:
    """The values `x` of the type for which `x op value` is true."""
    if value is None:
        return NULL_ONLY if op == "same" else NOTHING
    first, after = _at_and_after(value, type)
    not_less, greater = _from(first, type), _from(after, type)
    if op in ("eq", "same"):
        return not_less - greater
    if op == "ne":
        return NOT_NULL - (not_less - greater)
    if op in ("ge", "gt"):
        return not_less if op == "ge" else greater
    return NOT_NULL - (not_less if op == "lt" else greater)


def ends(type: Type) -> tuple[CutPoint, CutPoint | None]:
    """The least and the greatest point of the type's line; texts have no greatest."""
    if type.name == "STRING":
        return b"", None
    if type.name == "BOOLEAN":
        return 0, 1
    if type.is_decimal:
        return 1 - 10**type.precision, 10**type.precision - 1
    half = 1 << _BITS[type.name] - 1
    return -half, half - 1


def decimal_text(point: int, scale: int) -> str:
    """A point of a decimal's line in digits.

    >>> decimal_text(-5, 2)
    '-0.05'
    """
    digits = tuple(map(int, str(abs(point))))
    return f"{Decimal((int(point < 0), digits, -scale)):f}"


def _at_and_after(value: Value, type: Type) -> tuple[CutPoint, CutPoint]:
    """The first points that are not less than the value, and greater."""
    if isinstance(value, str):
        return value.encode(), value.encode() + b"\0"
    if isinstance(value, int | Decimal):
        scaled = Fraction(value) * 10**type.scale
        return ceil(scaled), floor(scaled) + 1
    point = _moment(value)
    return point, point + 1


def _moment(value: Value) -> int:
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MICROSECOND
    if isinstance(value, date):
        return (value - _EPOCH.date()).days
    raise TypeError(f"{value!r} is no point in time")


def _from(cut: CutPoint, type: Type) -> ValueSet:
    """The values from the cut on, where it may lie beyond the ends of the line."""
    least, greatest = ends(type)
    if cut <= least:
        return NOT_NULL
    return NOTHING if greatest is not None and cut > greatest else at_least(cut)
