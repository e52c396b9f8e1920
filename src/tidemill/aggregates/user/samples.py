"""Sample arguments to try an aggregate on: usual values, extremes, and many of them twice."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from tidemill.types import INTEGER_BITS, Type

SAMPLE_ROWS = 48
_SEED = 4
_NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
_TIMES = (
    *(_NOON + timedelta(seconds=seconds) for seconds in (0, 0.000001, 1, 7, 59.5, 61, 3600)),
    datetime(1969, 12, 31, 23, tzinfo=UTC),
    datetime(9999, 12, 31, tzinfo=UTC),
)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.1, 2.5, 1e-9, 1e9, -1e9, math.nan, math.inf, -math.inf)
_PLAIN: dict[str, tuple[Any, ...]] = {
    "BOOLEAN": (True, False),
    "STRING": ("", "a", "b", "ab", "ä", "z" * 80),
    "BINARY": (b"", b"a", b"\x00\xff"),
    "DATE": (date(1970, 1, 1), date(1969, 12, 31), date(2024, 3, 1), date(9999, 12, 31)),
    "TIMESTAMP": _TIMES,
    "TIMESTAMP_NTZ": tuple(time.replace(tzinfo=None) for time in _TIMES),
}


def sample(kind: Type, place: int) -> pa.Array:
    """`SAMPLE_ROWS` values; those of another argument, by its place, are drawn otherwise."""
    rng = np.random.default_rng(_SEED + place)
    pool = pool_of(kind, rng)
    return pa.array([pool[at] for at in rng.integers(len(pool), size=SAMPLE_ROWS)], kind.arrow)


def pool_of(kind: Type, rng: np.random.Generator) -> tuple[Any, ...]:
    if kind.is_integer:
        most = 2 ** (INTEGER_BITS[kind.name] - 1) - 1
        return (0, 1, -1, 2, 7, most, -most - 1, *rng.integers(-100, 100, 8).tolist())
    if kind.is_float:
        return (*_FLOATS, *rng.normal(50.0, 30.0, 12).astype(np.float32).tolist())
    if kind.is_decimal:
        unit, most = Decimal(1).scaleb(-kind.scale), 10**kind.precision - 1
        return tuple(unit * number for number in (0, 1, -1, 7, most, -most))
    return _PLAIN[kind.name]
