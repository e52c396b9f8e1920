"""Lanes with a value for each row, as arrays: Arrow columns in and out of what kernels combine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates.limbs import as_limbs
from tidemill.arrays import Array, BoolArray
from tidemill.types import Type


@dataclass(frozen=True)
class Encoded:
    """A lane of n rows. `valid` is None when every row has a value.

    What NumPy cannot compare (text, binary, decimals, values with their times) is kept as ranks
    into `dictionary`, sorted, so that MIN and MAX work on integers. Sums that may pass 64 bits
    are rows of limbs, or plain integers where every row fits. Moments and states are records.
    Sketches are objects, or bytes that nobody has looked at, and None where there is no value.
    """

    values: Array
    valid: BoolArray | None
    dictionary: pa.Array | None = None

    def take(self, rows: Array) -> Encoded:
        valid = None if self.valid is None else self.valid[rows]
        # Records are copied whole by `take`, and field by field by an index.
        is_records = self.values.dtype.names is not None
        values = self.values.take(rows) if is_records else self.values[rows]
        return Encoded(values, valid, self.dictionary)

    @property
    def absent(self) -> BoolArray | None:
        """The rows without a value; None when there are none."""
        return None if self.valid is None else ~self.valid

    @property
    def zeroed(self) -> Array:
        """The values with zero under each NULL, where an identity may not fit the column's type."""
        if self.valid is None:
            return self.values
        values = self.values.copy()
        values[~self.valid] = 0
        return values


def concatenate_encoded(parts: Sequence[Encoded]) -> Encoded:
    """The rows of all parts of one lane, one part after the other."""
    values = [part.values for part in parts]
    dictionary = None
    if parts[0].dictionary is not None:
        values, dictionary = _same_ranks(parts)
    elif any(array.ndim == 2 for array in values):
        values = as_limbs(values)
    if all(part.valid is None for part in parts):
        return Encoded(np.concatenate(values), None, dictionary)
    masks = [np.ones(len(p.values), np.bool_) if p.valid is None else p.valid for p in parts]
    return Encoded(np.concatenate(values), np.concatenate(masks), dictionary)


def _same_ranks(parts: Sequence[Encoded]) -> tuple[list[Array], pa.Array]:
    dictionaries: list[Any] = [part.dictionary for part in parts]
    stacked = pa.concat_arrays(dictionaries)
    common = (rank_pairs if pa.types.is_struct(stacked.type) else rank_values)(stacked, None)
    lengths = [len(dictionary) for dictionary in dictionaries]
    values = []
    for part, ranks in zip(parts, np.split(common.values, np.cumsum(lengths)[:-1]), strict=True):
        # What stands under a NULL need not be a rank.
        codes = part.values if part.valid is None else np.where(part.valid, part.values, 0)
        values.append(ranks[codes] if len(ranks) else np.zeros(len(codes), np.int64))
    return values, common.dictionary


def rank_values(array: pa.Array, valid: BoolArray | None) -> Encoded:
    """Values as ranks among the distinct ones."""
    coded = pc.dictionary_encode(array)
    order = pc.sort_indices(coded.dictionary)
    ranks = _inverse(order)
    codes = filled(coded.indices)
    values = ranks[codes] if len(ranks) else np.zeros(len(codes), dtype=np.int64)
    return Encoded(values, valid, coded.dictionary.take(order))


def rank_pairs(pairs: pa.StructArray, valid: BoolArray | None) -> Encoded:
    """By time, then by value, so that of what came at once the least is first, NULL before it."""
    times, values = pairs.flatten()
    # Arrow would sort NaN where it sorts NULL.
    columns = {"t": times, "known": values.is_valid(), "v": values}
    order = pc.sort_indices(pa.table(columns), [(name, "ascending") for name in columns])
    return Encoded(_inverse(order), valid, pairs.take(order))


def from_ranks(dictionary: pa.Array, ranks: Array) -> pa.Array:
    if not len(dictionary):
        return pa.nulls(len(ranks), dictionary.type)
    return dictionary.take(pa.array(ranks))


def _inverse(order: pa.Array) -> Array:
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order.to_numpy()] = np.arange(len(order))
    return ranks


def flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """All chunks as one."""
    if isinstance(column, pa.ChunkedArray):
        # To combine one chunk would copy it.
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def valid_rows(array: pa.Array) -> BoolArray | None:
    """Flags of the rows that have a value; None if all have."""
    if array.null_count == 0:
        return None
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)


def numbers_of(array: pa.Array) -> Array:
    """A column as 64-bit integers or doubles, zero for NULL."""
    if pa.types.is_floating(array.type):
        return filled(array.cast(pa.float64()))
    if pa.types.is_date(array.type):
        array = array.cast(pa.int32())
    return filled(array.cast(pa.int64()))


def filled(array: pa.Array) -> Array:
    """A column with zero for NULL."""
    without_nulls = array.fill_null(0) if array.null_count else array
    return np.asarray(without_nulls.to_numpy(zero_copy_only=False))


def as_type(values: Array, kind: Type) -> pa.Array:
    """Numbers as a column of the type."""
    if kind.name == "BOOLEAN":
        return pa.array(values.astype(np.bool_))
    if kind.name == "DATE":
        return pa.array(values.astype(np.int32)).cast(pa.date32())
    return pa.array(values).cast(kind.arrow)


def mask_out(array: pa.Array, absent: Array | None) -> pa.Array:
    """NULL where a row is absent."""
    if absent is None:
        return array
    return pc.if_else(pa.array(absent), pa.scalar(None, array.type), array)
