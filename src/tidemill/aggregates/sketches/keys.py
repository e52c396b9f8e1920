"""Columns of values as keys, and back: `plan.aggregates.keys` has the same for constants.

>>> from tidemill.types import DOUBLE
>>> keys_of(pa.array([1.5, -0.0, 0.0]), DOUBLE)
[4609434218613702656, 0, 0]
>>> values_of([4609434218613702656], DOUBLE).to_pylist()
[1.5]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tidemill.arrays import Array, IntArray
from tidemill.plan.functions.keys import Key
from tidemill.types import BOOLEAN, DATE, Type

_LATIN = "latin-1"  # every byte is a letter of it


def is_text_key(kind: Type) -> bool:
    return kind.is_decimal or kind.name in ("STRING", "BINARY")


def keys_of(array: pa.Array, kind: Type) -> list[Any]:
    """The key of each value; None for NULL."""
    if kind.name == "BINARY":
        return [None if value is None else value.decode(_LATIN) for value in array.to_pylist()]
    if kind.is_float:
        bits = float_bits(array.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False))
        known = array.is_valid().to_pylist()
        return [key if there else None for key, there in zip(bits.tolist(), known, strict=True)]
    if is_text_key(kind):
        return list(array.cast(pa.string()).to_pylist())
    return list(_whole(array).to_pylist())


def float_bits(values: Array) -> IntArray:
    """The bits of doubles; all NaN are one value, and so are the zeros."""
    canonical = np.asarray(values, np.float64) + 0.0
    return np.where(np.isnan(canonical), np.nan, canonical).view(np.int64)


def values_of(keys: Sequence[Key], kind: Type) -> pa.Array:
    if kind.is_float:
        return pa.array(np.array(keys, np.int64).view(np.float64)).cast(kind.arrow)
    if is_text_key(kind):
        return pa.array(keys, pa.string()).cast(kind.arrow)
    whole = pa.array(keys, pa.int64())
    if kind == BOOLEAN:
        return whole.cast(pa.bool_())
    return (whole.cast(pa.int32()) if kind == DATE else whole).cast(kind.arrow)


def _whole(array: pa.Array) -> pa.Array:
    if pa.types.is_date(array.type):
        array = array.cast(pa.int32())
    return array.cast(pa.int64())
