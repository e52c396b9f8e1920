"""Constants as Spark types them, and the few texts that are surely a date or a timestamp.

>>> str(numeric("0.05", negative=True).type)
'DECIMAL(2,2)'
>>> str(numeric("3000000000").type)
'BIGINT'
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal

from tidemill.plan.coercion import MAX_DIGITS, decimal_type
from tidemill.plan.expressions import Literal
from tidemill.types import BIGINT, DATE, DOUBLE, INT, TIMESTAMP, Type

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,6})?")
_WHOLE = re.compile(r"\d+")
_PLAIN = re.compile(r"\d+\.\d*|\.\d+")
_SCIENTIFIC = re.compile(r"(\d+(\.\d*)?|\.\d+)[eE][+-]?\d+")


def numeric(text: str, *, negative: bool = False) -> Literal | None:
    """A numeric literal; the sign belongs to it, as the smallest integers need."""
    signed = f"-{text}" if negative else text
    if _WHOLE.fullmatch(text):
        return _integer(int(signed))
    if _SCIENTIFIC.fullmatch(text):
        return Literal(float(signed), DOUBLE)
    return _decimal(Decimal(signed)) if _PLAIN.fullmatch(text) else None


def moment(text: str, target: Type) -> Literal | None:
    """A DATE or TIMESTAMP constant, for text in the one full form."""
    try:
        if target == DATE and _DATE.fullmatch(text):
            return Literal(date.fromisoformat(text), DATE)
        if target == TIMESTAMP and _TIMESTAMP.fullmatch(text):
            return Literal(datetime.fromisoformat(text).replace(tzinfo=UTC), TIMESTAMP)
    except ValueError:
        return None
    return None


def minimal_decimal(value: int) -> Type:
    """The decimal Spark takes for an integer literal that meets a decimal in arithmetic."""
    return decimal_type(len(str(abs(value))), 0)


def _integer(value: int) -> Literal | None:
    for integer, bits in ((INT, 32), (BIGINT, 64)):
        if -(1 << bits - 1) <= value < 1 << bits - 1:
            return Literal(value, integer)
    return _decimal(Decimal(value))


def _decimal(value: Decimal) -> Literal | None:
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    # Zeros in front do not count, as in Java's BigDecimal.
    significant = len(str(int("".join(map(str, digits)))))
    precision = max(significant, scale)
    return Literal(value, decimal_type(precision, scale)) if precision <= MAX_DIGITS else None
