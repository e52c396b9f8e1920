"""Some rows of a file, column by column: as numbers, and as codes of the values that occur."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates.encoded import flat
from tidemill.aggregates.numbering import Digit, distinct_codes
from tidemill.arrays import Array, BoolArray
from tidemill.plan.expressions import Scalar
from tidemill.scan.arrays.computed import ComputedValues, compute
from tidemill.types import BOOLEAN, DATE, STRING, TIMESTAMP, Type

_MOST_MS = (2**63 - 1) // 1000
_FEW = 1 << 16
_DENSE = 1 << 10


class OutOfRangeError(Exception):
    """A value that has no place in the column's type."""


@dataclass(frozen=True)
class Coded:
    """The code of each row and the value of each code; NULL is the code after the last value.

    Values are texts, or numbers on the line of their type.
    """

    digit: Digit
    values: pa.Array

    @property
    def nulls(self) -> int:
        return self.digit.size - len(self.values)


class ChunkColumn:
    """One column of some rows, looked at in the ways that are asked for, each once."""

    def __init__(self, array: pa.Array, kind: Type) -> None:
        self._array, self._kind = _lined(array, kind), kind

    @cached_property
    def valid(self) -> BoolArray | None:
        """None when every row has a value."""
        if not self._array.null_count:
            return None
        return np.asarray(self._array.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)

    @cached_property
    def numbers(self) -> Array:
        """Integers or doubles as the kernels have them, zero for NULL."""
        return self._raw.astype(np.float64 if self._kind.is_float else np.int64, copy=False)

    @cached_property
    def coded(self) -> Coded:
        """For keys, whatever they are."""
        if self._kind == STRING:
            return self._texts()
        return self._small or self._hashed()

    @cached_property
    def distinct(self) -> Coded:
        """The values in their own type, in any order."""
        if not self._kind.is_float:
            return Coded(self.coded.digit, self._typed(self.coded.values))
        numbers = self._raw + self._raw.dtype.type(0)
        # Zeros of either sign are one value, and so is every NaN.
        numbers[np.isnan(numbers)] = np.nan
        encoded = pc.dictionary_encode(pa.array(numbers))
        return self._with_null(encoded.indices.to_numpy(), encoded.dictionary)

    @cached_property
    def few(self) -> Coded | None:
        """Only where codes are cheaper to have than to do without."""
        return self._texts() if self._kind == STRING else self._small

    def take(self, rows: Array) -> pa.Array:
        """The values of some rows, in their own type."""
        values = self.distinct.values
        values = pa.concat_arrays([values, pa.nulls(self.coded.nulls, values.type)])
        return values.take(pa.array(self.coded.digit.codes[rows]))

    @cached_property
    def _raw(self) -> Array:
        array = self._array.fill_null(0) if self._array.null_count else self._array
        return np.asarray(array.to_numpy(zero_copy_only=False))

    @cached_property
    def _small(self) -> Coded | None:
        """Values in a short range are codes but for the least of them."""
        ends = pc.min_max(self._array)
        low, high = ends["min"].as_py(), ends["max"].as_py()
        if low is None:
            return self._with_null(np.zeros(len(self._array), np.int32), pa.nulls(0, pa.int64()))
        if high - low > _FEW + 2 * len(self._array):
            return None
        # Under a NULL stands a zero, which may lie outside.
        wide = self._raw if self._raw.dtype == np.int64 else self._raw.astype(np.int32)
        codes = (wide - low).astype(np.int32, copy=False)
        if high - low < _DENSE:
            return self._with_null(codes, pa.array(low + np.arange(high - low + 1)))
        # Short codes make short tables for all that follows.
        if self.valid is not None:
            codes[~self.valid] = 0
        ranked, occurring = distinct_codes(Digit(codes, high - low + 1))
        return self._with_null(ranked.codes, pa.array(low + occurring))

    def _hashed(self) -> Coded:
        encoded = pc.dictionary_encode(self._array)
        values = encoded.dictionary.cast(pa.int64())
        return self._with_null(_filled(encoded.indices), values)

    def _texts(self) -> Coded:
        """A writer may have put a text into its dictionary twice; here each is there once."""
        distinct = pc.dictionary_encode(self._array.dictionary.cast(pa.string()))
        codes = _filled(self._array.indices)
        if len(distinct.dictionary) < len(distinct):
            codes = distinct.indices.to_numpy()[codes]
        return self._with_null(codes, distinct.dictionary)

    def _with_null(self, codes: Array, values: pa.Array) -> Coded:
        if self.valid is None:
            return Coded(Digit(codes, len(values)), values)
        return Coded(Digit(np.where(self.valid, codes, len(values)), len(values) + 1), values)

    def _typed(self, values: pa.Array) -> pa.Array:
        values = values.cast(pa.int32()) if self._kind == DATE else values
        return values.cast(self._kind.arrow)


def _filled(indices: pa.Array) -> Array:
    return np.asarray((indices.fill_null(0) if indices.null_count else indices).to_numpy())


def _lined(array: pa.Array, kind: Type) -> pa.Array:
    """The values as numbers on the line of their type; texts as a dictionary."""
    if kind == STRING:
        return array if pa.types.is_dictionary(array.type) else pc.dictionary_encode(array)
    if kind == BOOLEAN:
        return array.cast(pa.int8())
    if kind == DATE:
        return array.cast(pa.int32())
    if kind == TIMESTAMP:
        return _micros(array)
    return _unscaled(array) if kind.is_decimal else array


def _micros(array: pa.Array) -> pa.Array:
    numbers = array.cast(pa.int64())
    if array.type.unit == "us":
        return numbers
    ends = pc.min_max(numbers)
    if (
        len(numbers) > numbers.null_count
        and max(-ends["min"].as_py(), ends["max"].as_py()) > _MOST_MS
    ):
        raise OutOfRangeError("a time in milliseconds does not fit microseconds")
    return pc.multiply(numbers, 1000)


def _unscaled(array: pa.Array) -> pa.Array:
    """The digits of decimals that fit 64 bits: the lower half of each is all there is."""
    halves = np.frombuffer(array.buffers()[1], dtype="<i8")[0::2]
    lower = halves[array.offset : array.offset + len(array)]
    absent = None if not array.null_count else array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(lower, mask=absent)


class ComputedColumn(ChunkColumn):
    """The column that an expression computes, and in how many rows it raised."""

    def __init__(self, values: ComputedValues, kind: Type) -> None:
        super().__init__(values.array, kind)
        self.values, self.raised = values.array, values.raised


class Chunk:
    """Some rows; `kinds` are the declared types by name, and names are in lower case."""

    def __init__(self, table: pa.Table, kinds: Mapping[str, Type]) -> None:
        self._table, self._kinds = table, kinds
        self._columns: dict[str, ChunkColumn] = {}
        self._computed: dict[str, ComputedColumn] = {}

    def __len__(self) -> int:
        return len(self._table)

    def column(self, name: str) -> ChunkColumn:
        """The column of this name, however it is written."""
        name = name.lower()
        if name not in self._columns:
            array = flat(self._table.column(name))
            self._columns[name] = ChunkColumn(array, self._kinds[name])
        return self._columns[name]

    def column_of(self, scalar: Scalar) -> ChunkColumn:
        """The column that an expression is, or computes."""
        return self.column(scalar.names[0]) if scalar.is_column else self.computed(scalar)

    def computed(self, scalar: Scalar) -> ComputedColumn:
        """The column of an expression over others."""
        if scalar.sql not in self._computed:
            assert scalar.node is not None, f"{scalar.sql} is for Catalyst to evaluate"
            values = compute(scalar.node, self.column, len(self))
            self._computed[scalar.sql] = ComputedColumn(values, scalar.type)
        return self._computed[scalar.sql]

    def values_of(self, scalar: Scalar, rows: Array) -> pa.Array:
        """The values of an expression in some rows, in its own type."""
        if scalar.is_column:
            return self.values(scalar.names[0], rows)
        return self.computed(scalar).values.take(pa.array(rows))

    def values(self, name: str, rows: Array) -> pa.Array:
        """A column of some rows, in its declared type."""
        array, kind = flat(self._table.column(name.lower())), self._kinds[name.lower()]
        return array.take(pa.array(rows)).cast(kind.arrow)

    def where(self, chosen: BoolArray) -> Chunk:
        """Some of the rows."""
        return Chunk(self._table.filter(pa.array(chosen)), self._kinds)
