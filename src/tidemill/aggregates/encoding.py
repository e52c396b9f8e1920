"""Lanes as arrays: Arrow columns in and out of what the kernels combine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates import moments, sketches
from tidemill.aggregates.elementwise import records
from tidemill.aggregates.lanes import Lane
from tidemill.aggregates.limbs import fitted, normalise, split_decimal, split_int64, to_decimal
from tidemill.aggregates.merging import objects
from tidemill.aggregates.sketches.keys import keys_of
from tidemill.aggregates.user.lanes import absent_user, decode_user, encode_user
from tidemill.arrays import Array, BoolArray
from tidemill.plan.functions.basic import sum_type
from tidemill.types import BIGINT, DOUBLE, Type


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


def encode(lane: Lane, columns: list[pa.ChunkedArray]) -> Encoded:
    """The lane of some partial rows, from the columns named by `lane.parts`.

    Of sums that fit 64 bits the first column may be all there is.
    """
    arrays = [flat(column) for column in columns]
    if lane.is_sketch:
        return Encoded(_sketches(lane, arrays), None)
    if lane.kind == "moments":
        return Encoded(_moments(arrays), None)
    if lane.kind == "user":
        return Encoded(encode_user(lane, arrays), None)
    if lane.kind in ("first", "last"):
        return rank_pairs(pa.StructArray.from_arrays(arrays, ["t", "v"]), _valid(arrays[0]))
    valid = _valid(arrays[0])
    if lane.kind == "sum":
        return Encoded(_encode_sum(lane, arrays), valid)
    if lane.kind in ("min", "max") and _is_ranked(lane.type):
        return _rank(arrays[0], valid)
    return Encoded(_numbers(arrays[0]), valid)


def decode(lane: Lane, encoded: Encoded) -> list[pa.Array]:
    """The columns back, as the lift made them, or one alone if each row fits 64 bits."""
    if lane.is_sketch:
        return [_sketch_bytes(lane, encoded.values)]
    absent = None if encoded.valid is None else ~encoded.valid
    values = encoded.values
    if absent is not None:
        # Under a NULL stands an identity, which need not fit the column's type.
        values = values.copy()
        values[absent] = 0
    if lane.kind == "moments":
        return [pa.array(values[name]) for name in lane.parts]
    if lane.kind == "user":
        return decode_user(lane, values)
    if values.ndim == 2:
        arrays = _from_limbs(lane, values)
    elif lane.kind in ("first", "last"):
        arrays = _from_ranks(encoded.dictionary, values).flatten()
    elif encoded.dictionary is not None:
        arrays = [_from_ranks(encoded.dictionary, values)]
    else:
        arrays = [_as_type(values, _stored(lane))]
    return [mask_out(array, absent) for array in arrays]


def _from_ranks(dictionary: pa.Array, ranks: Array) -> pa.Array:
    if not len(dictionary):
        return pa.nulls(len(ranks), dictionary.type)
    return dictionary.take(pa.array(ranks))


def concatenated(parts: Sequence[Encoded]) -> Encoded:
    """The rows of all parts of one lane, one part after the other."""
    values = [part.values for part in parts]
    dictionary = None
    if parts[0].dictionary is not None:
        values, dictionary = _same_ranks(parts)
    elif any(one.ndim == 2 for one in values):
        values = [one if one.ndim == 2 else split_int64(one) for one in values]
    if all(part.valid is None for part in parts):
        return Encoded(np.concatenate(values), None, dictionary)
    masks = [np.ones(len(p.values), np.bool_) if p.valid is None else p.valid for p in parts]
    return Encoded(np.concatenate(values), np.concatenate(masks), dictionary)


def _same_ranks(parts: Sequence[Encoded]) -> tuple[list[Array], pa.Array]:
    dictionaries: list[Any] = [part.dictionary for part in parts]
    stacked = pa.concat_arrays(dictionaries)
    whole = (rank_pairs if pa.types.is_struct(stacked.type) else _rank)(stacked, None)
    ranks = np.split(whole.values, np.cumsum([len(one) for one in dictionaries])[:-1])
    values = []
    for part, mine in zip(parts, ranks, strict=True):
        # What stands under a NULL need not be a rank.
        own = part.values if part.valid is None else np.where(part.valid, part.values, 0)
        values.append(mine[own] if len(mine) else np.zeros(len(own), np.int64))
    return values, whole.dictionary


def absent(lane: Lane, rows: int) -> Encoded:
    """The lane of rows from before it was kept."""
    if lane.is_sketch:
        return Encoded(np.full(rows, None, object), None)
    if lane.kind == "moments":
        return Encoded(np.zeros(rows, moments.DTYPE), None)
    if lane.kind == "user":
        return Encoded(absent_user(lane, rows), None)
    kind = sum_type(lane.type) if lane.kind == "sum" and lane.type.is_decimal else _stored(lane)
    nulls = pa.chunked_array([pa.nulls(rows, kind.arrow)])
    if lane.kind in ("first", "last"):
        return encode(lane, [pa.chunked_array([pa.nulls(rows, pa.int64())]), nulls])
    return encode(lane, [nulls for _ in lane.parts])


def _stored(lane: Lane) -> Type:
    if lane.kind in ("min", "max", "first", "last"):
        return lane.type
    return DOUBLE if lane.kind == "sum" and lane.type.is_float else BIGINT


def flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """All chunks as one."""
    if isinstance(column, pa.ChunkedArray):
        # To combine one chunk would copy it.
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def _valid(array: pa.Array) -> BoolArray | None:
    if array.null_count == 0:
        return None
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)


def _numbers(array: pa.Array) -> Array:
    if pa.types.is_floating(array.type):
        return _filled(array.cast(pa.float64()))
    if pa.types.is_date(array.type):
        array = array.cast(pa.int32())
    return _filled(array.cast(pa.int64()))


def _filled(array: pa.Array) -> Array:
    filled = array.fill_null(0) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def _encode_sum(lane: Lane, arrays: list[pa.Array]) -> Array:
    if lane.type.is_decimal:
        return np.asarray(split_decimal(arrays[0]))
    if len(arrays) == 2:
        return fitted(normalise(np.stack([_numbers(a) for a in arrays], axis=1)))
    return _numbers(arrays[0])


def _is_ranked(kind: Type) -> bool:
    return kind.is_decimal or kind.name in ("STRING", "BINARY")


def _rank(array: pa.Array, valid: BoolArray | None) -> Encoded:
    coded = pc.dictionary_encode(array)
    order = pc.sort_indices(coded.dictionary)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order.to_numpy()] = np.arange(len(order))
    codes = _filled(coded.indices)
    values = ranks[codes] if len(ranks) else np.zeros(len(codes), dtype=np.int64)
    return Encoded(values, valid, coded.dictionary.take(order))


def rank_pairs(pairs: pa.StructArray, valid: BoolArray | None) -> Encoded:
    """By time, then by value, so that of what came at once the least is first."""
    order = pc.sort_indices(
        pa.table(pairs.flatten(), ["t", "v"]), [("t", "ascending"), ("v", "ascending")]
    )
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order.to_numpy()] = np.arange(len(order))
    return Encoded(ranks, valid, pairs.take(order))


def _sketches(lane: Lane, arrays: list[pa.Array]) -> Array:
    """Bytes as they are; or sketches of one value each, where rows are by value."""
    if len(arrays) == 1:
        return np.asarray(arrays[0].to_numpy(zero_copy_only=False))
    family = sketches.family_of_keys(lane.kind, lane.size, lane.type)
    rows = zip(keys_of(arrays[0], lane.type), arrays[1].to_pylist(), strict=True)
    made = [None if key is None else family.make([key], [count]) for key, count in rows]
    return objects(made)


def _sketch_bytes(lane: Lane, states: Array) -> pa.Array:
    to_bytes = sketches.family(lane.kind, lane.size, lane.type).to_bytes
    written = [None if state is None else to_bytes(state) for state in states.tolist()]
    return pa.array(written, pa.binary())


def _moments(arrays: list[pa.Array]) -> Array:
    """A group without any value has none of the three but the count."""
    return records(moments.DTYPE, *(_filled(array.cast(pa.float64())) for array in arrays))


def _from_limbs(lane: Lane, limbs: Array) -> list[pa.Array]:
    if lane.type.is_decimal:
        wide = sum_type(lane.type)
        return [to_decimal(limbs, wide.precision, wide.scale)]
    return [pa.array(limbs[:, part]) for part in range(limbs.shape[1])]


def _as_type(values: Array, kind: Type) -> pa.Array:
    if kind.name == "BOOLEAN":
        return pa.array(values.astype(np.bool_))
    if kind.name == "DATE":
        return pa.array(values.astype(np.int32)).cast(pa.date32())
    return pa.array(values).cast(kind.arrow)


def mask_out(array: pa.Array, absent: Array | None) -> pa.Array:
    if absent is None:
        return array
    return pc.if_else(pa.array(absent), pa.scalar(None, array.type), array)
