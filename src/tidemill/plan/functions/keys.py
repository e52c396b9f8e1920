"""Constants as keys: a sketch knows every value as an integer or a text.

Whole numbers, booleans, dates and times are integers, floats the integer that has their bits;
text is itself, and decimals are the text of their digits.

>>> key_of("1970-01-03", DATE), key_of(Decimal("2.5"), Type("DECIMAL", 9, 2))
(2, '2.50')
"""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from tidemill.plan.expressions import Value
from tidemill.types import BOOLEAN, DATE, INTEGER_BITS, STRING, Type

Key = int | str
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)


def key_of(value: Value, kind: Type) -> Key:
    """The key of a constant; raises `ValueError` with a reason if the type has no such value."""
    if kind == STRING:
        return _text(value)
    if kind == BOOLEAN:
        return int(_boolean(value))
    if kind == DATE:
        return (date.fromisoformat(_text(value)) - date(1970, 1, 1)) // _DAY
    if kind.name.startswith("TIMESTAMP"):
        return _micros(datetime.fromisoformat(_text(value)))
    if kind.is_float:
        return float_key(float(_number(value)), single=kind.name == "FLOAT")
    return _digits(_number(value), kind)


def float_key(value: float, single: bool = False) -> int:
    """The bits of a double; all NaN are one value, and so are the zeros."""
    if single:
        (value,) = struct.unpack("<f", struct.pack("<f", value))
    canonical = math.nan if value != value else value + 0.0
    (bits,) = struct.unpack("<q", struct.pack("<d", canonical))
    return int(bits)


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("write it in quotes")


def _boolean(value: Value) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("it is TRUE or FALSE")


def _number(value: Value) -> int | Decimal:
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return value
    raise ValueError("it is a number")


def _micros(time: datetime) -> int:
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND


def _digits(value: int | Decimal, kind: Type) -> Key:
    if kind.is_integer:
        bits = INTEGER_BITS[kind.name]
        if value != int(value) or not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ValueError(f"no {kind} is that")
        return int(value)
    exact = Decimal(value).quantize(Decimal(1).scaleb(-kind.scale))
    if exact != value or abs(value) >= 10 ** (kind.precision - kind.scale):
        raise ValueError(f"no {kind} is that")
    return f"{exact:f}"
