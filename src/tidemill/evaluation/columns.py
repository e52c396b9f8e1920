"""Arrow columns as NumPy values with a mask, and back.

Array of missing rows are a harmless zero of their kind. A decimal is its unscaled integer:
`int64` up to 18 digits, Python integers in an object array beyond.

>>> from tidemill.types import BIGINT
>>> column = from_arrow(pa.array([7, None]), BIGINT)
>>> column.values.tolist(), column.valid.tolist()
([7, 0], [True, False])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tidemill.arrays import Array, BoolArray
from tidemill.types import Type

# Values, and the places at which they have overflowed.
Computed = tuple[Array, BoolArray]

INT64_DIGITS = 18
_WORD = 1 << 64
_NUMPY: dict[str, Any] = {
    "BOOLEAN": np.bool_,
    "TINYINT": np.int8,
    "SMALLINT": np.int16,
    "INT": np.int32,
    "BIGINT": np.int64,
    "FLOAT": np.float32,
    "DOUBLE": np.float64,
    "DATE": np.int32,
    "TIMESTAMP": np.int64,
    "TIMESTAMP_NTZ": np.int64,
}


@dataclass(frozen=True)
class MaskedColumn:
    """Values, a mask of those that are not NULL, and of the rows for which Spark would raise.

    The three need not have one shape, only shapes that broadcast: a constant has one value,
    a column of a matrix of windows by groups may vary along one side only.
    """

    values: Array
    valid: BoolArray
    raised: BoolArray

    def also_raised(self, raised: BoolArray) -> MaskedColumn:
        return replace(self, raised=self.raised | raised)

    def at(self, index: Any) -> MaskedColumn:
        """Some rows of a column that is one-dimensional."""
        full = self.spread(self.values.shape)
        return MaskedColumn(full.values[index], full.valid[index], full.raised[index])

    def spread(self, shape: tuple[int, ...]) -> MaskedColumn:
        """The same with every part in full, of this shape."""
        return self._with_parts(lambda part: np.broadcast_to(part, shape))

    def flat(self, shape: tuple[int, ...]) -> MaskedColumn:
        """The same as rows, as many as the shape has places."""
        return self._with_parts(lambda part: np.broadcast_to(part, shape).ravel())

    def shaped(self, shape: tuple[int, ...]) -> MaskedColumn:
        """The rows put into another shape of as many places."""
        return self._with_parts(lambda part: part.reshape(shape))

    def _with_parts(self, change: Callable[[Array], Array]) -> MaskedColumn:
        return MaskedColumn(change(self.values), change(self.valid), change(self.raised))


# For a column with a value in every row, or that raised in none.
ALL_VALID: BoolArray = np.ones(1, bool)
NONE_RAISED: BoolArray = np.zeros(1, bool)


def numpy_type(type: Type) -> Any:
    if type.is_decimal:
        return np.int64 if type.precision <= INT64_DIGITS else object
    return _NUMPY.get(type.name, object)


def from_arrow(array: pa.Array, type: Type) -> MaskedColumn:
    if array.type != type.arrow:
        array = array.cast(type.arrow)
    valid = np.asarray(array.is_valid())
    return MaskedColumn(_values(array, type), valid, np.zeros(len(array), bool))


def to_arrow(column: MaskedColumn, type: Type) -> pa.Array:
    missing = None if column.valid.all() else ~column.valid
    if type.is_decimal:
        return _decimals_to_arrow(column, type)
    if numpy_type(type) is object:
        return pa.array(column.values, type.arrow, mask=missing)
    plain = pa.array(np.ascontiguousarray(column.values, numpy_type(type)), mask=missing)
    return plain if plain.type == type.arrow else plain.view(type.arrow)


def nulls(type: Type, rows: int) -> MaskedColumn:
    zeros = np.zeros(rows, numpy_type(type))
    if type.name == "STRING":
        zeros = np.full(rows, "", object)
    return MaskedColumn(zeros, np.zeros(rows, bool), np.zeros(rows, bool))


def _values(array: pa.Array, type: Type) -> Array:
    if type.is_decimal:
        return _unscaled(array, type)
    if type.inner:
        return np.fromiter(array.to_pylist(), object, len(array))
    if numpy_type(type) is object:
        return _plain(array.fill_null(b"" if type.name == "BINARY" else ""))
    if type.name == "BOOLEAN":
        return _plain(array.fill_null(False))
    return _plain(array.view(pa.from_numpy_dtype(numpy_type(type))).fill_null(0))


def _plain(array: pa.Array) -> Array:
    values: Array = array.to_numpy(zero_copy_only=False)
    return values


def _unscaled(array: pa.Array, type: Type) -> Array:
    """The two 64-bit words of each 128-bit integer, joined; missing rows read as zero."""
    if not len(array):
        return np.zeros(0, numpy_type(type))
    words = np.frombuffer(array.buffers()[1], np.int64)
    words = words[2 * array.offset : 2 * (array.offset + len(array))].reshape(-1, 2)
    valid = np.asarray(array.is_valid())
    low, high = np.where(valid, words[:, 0], 0), np.where(valid, words[:, 1], 0)
    if type.precision <= INT64_DIGITS:
        return low
    joined: Array = high.astype(object) * _WORD + low.view(np.uint64).astype(object)
    return joined


def _decimals_to_arrow(column: MaskedColumn, type: Type) -> pa.Array:
    words = np.empty((len(column.values), 2), np.int64)
    values = np.where(column.valid, column.values, 0)
    if values.dtype == object:
        words[:, 0] = (values % _WORD).astype(np.uint64).view(np.int64)
        words[:, 1] = (values // _WORD).astype(np.int64)
    else:
        words[:, 0], words[:, 1] = values, values >> 63
    present = pa.array(column.valid).buffers()[1]
    return pa.Array.from_buffers(type.arrow, len(words), [present, pa.py_buffer(words)])
