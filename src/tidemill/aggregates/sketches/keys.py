"""Values as keys: a sketch knows every value as an integer or a text.

Whole numbers, booleans, dates and times are integers, floats the integer that has their bits;
text is itself, and decimals are the text of their digits. Constants and columns have the same.

>>> from tidemill.types import DOUBLE
>>> key_of("1970-01-03", DATE), key_of(Decimal("2.5"), Type("DECIMAL", 9, 2))
(2, '2.50')
>>> keys_of(pa.array([1.5, -0.0, 0.0]), DOUBLE)
[4609434218613702656, 0, 0]
>>> values_of([4609434218613702656], DOUBLE).to_pylist()
[1.5]
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from tidemill.arrays import Array, IntArray
from tidemill.plan.expressions import Value
from tidemill.types import BOOLEAN, DATE, INTEGER_BITS, STRING, Type

SketchKey = int | str
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)
_LATIN = "latin-1"  # every byte is a letter of it


def is_text_key(kind: Type) -> bool:
    return kind.is_decimal or kind.name in ("STRING", "BINARY")


def keys_of(array: pa.Array, kind: Type) -> list[Any]:
    """The key of each value; None for NULL."""
    if kind.name == "BINARY":
        return [None if value is None else value.decode(_LATIN) for value in array.to_pylist()]
    if kind.is_float:
        bits = float_bits(array.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False))
        is_valid = array.is_valid().to_pylist()
        return [key if there else None for key, there in zip(bits.tolist(), is_valid, strict=True)]
    if is_text_key(kind):
        return list(array.cast(pa.string()).to_pylist())
    return list(_as_int64(array).to_pylist())


def float_bits(values: Array) -> IntArray:
    """The bits of doubles; all NaN are one value, and so are the zeros."""
    canonical = np.asarray(values, np.float64) + 0.0
    return np.where(np.isnan(canonical), np.nan, canonical).view(np.int64)


def values_of(keys: Sequence[SketchKey], kind: Type) -> pa.Array:
    if kind.is_float:
        return pa.array(np.array(keys, np.int64).view(np.float64)).cast(kind.arrow)
    if is_text_key(kind):
        return pa.array(keys, pa.string()).cast(kind.arrow)
    numbers = pa.array(keys, pa.int64())
    if kind == BOOLEAN:
        return numbers.cast(pa.bool_())
    return (numbers.cast(pa.int32()) if kind == DATE else numbers).cast(kind.arrow)


def _as_int64(array: pa.Array) -> pa.Array:
    if pa.types.is_date(array.type):
        array = array.cast(pa.int32())
    return array.cast(pa.int64())


def key_of(value: Value, kind: Type) -> SketchKey:
    """The key of a constant; raises `ValueError` with a reason if the type has no such value."""
    if kind == STRING:
        return _text(value)
    if kind == BOOLEAN:
        return int(_boolean(value))
    if kind == DATE:
        return (date.fromisoformat(_text(value)) - date(1970, 1, 1)) // _DAY
    if kind.name.startswith("TIMESTAMP"):
        return _micros_of(datetime.fromisoformat(_text(value)))
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


def _micros_of(time: datetime) -> int:
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND


def _digits(value: int | Decimal, kind: Type) -> SketchKey:
    if kind.is_integer:
        bits = INTEGER_BITS[kind.name]
        if value != int(value) or not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ValueError(f"no {kind} is that")
        return int(value)
    exact = Decimal(value).quantize(Decimal(1).scaleb(-kind.scale))
    if exact != value or abs(value) >= 10 ** (kind.precision - kind.scale):
        raise ValueError(f"no {kind} is that")
    return f"{exact:f}"
