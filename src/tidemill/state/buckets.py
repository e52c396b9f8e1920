"""The bucket of a group: a hash of its keys, the same in every process and for ever.

Equal keys must hash alike however they came, so NULLs, NaNs and zeros of either sign have one
hash each. Text is hashed once for each distinct value.

>>> groups = pa.table({"k": ["a", "b", None, "a"], "n": [1, 1, 2, 1]})
>>> found = buckets_of(groups, 8)
>>> bool(found[0] == found[3]), len(found)
(True, 4)
"""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidemill.arrays import IntArray

HashArray = NDArray[np.uint64]
_NULL = 0x9E3779B97F4A7C15


def buckets_of(groups: pa.Table, buckets: int) -> IntArray:
    """The bucket of each row of a table of keys; without keys all are in the first."""
    return (hashes_of(groups) % np.uint64(buckets)).astype(np.int64)


def hashes_of(groups: pa.Table) -> HashArray:
    """A hash of each row of a table of keys; different keys may have the same one."""
    hashes: HashArray = np.zeros(len(groups), dtype=np.uint64)
    for column in groups.columns:
        hashes = _mixed(hashes * np.uint64(31) + _hashed(column))
    return hashes


def _hashed(column: pa.ChunkedArray) -> HashArray:
    coded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
    distinct = coded.dictionary
    values = _of_values(distinct)
    values[np.asarray(distinct.is_null().to_numpy(zero_copy_only=False))] = _NULL
    return np.asarray(values[coded.indices.to_numpy()], dtype=np.uint64)


def _of_values(distinct: pa.Array) -> HashArray:
    kind = distinct.type
    if pa.types.is_floating(kind):
        # Adding zero turns -0.0 into 0.0; every NaN becomes the same one.
        numbers = np.asarray(distinct.fill_null(0).cast(pa.float64())) + 0.0
        return _mixed(np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _mixed(np.asarray(distinct.cast(pa.int64()).fill_null(0)).view(np.uint64))
    if pa.types.is_temporal(kind):
        integer = pa.int32() if pa.types.is_date(kind) else pa.int64()
        return _mixed(
            np.asarray(distinct.cast(integer).fill_null(0).cast(pa.int64())).view(np.uint64)
        )
    texts = (
        b"" if v is None else v if isinstance(v, bytes) else str(v).encode()
        for v in distinct.to_pylist()
    )
    return _mixed(np.fromiter((zlib.crc32(text) for text in texts), np.uint64, len(distinct)))


def _mixed(hashes: HashArray) -> HashArray:
    """The finaliser of SplitMix64: neighbours end up far apart."""
    with np.errstate(over="ignore"):
        hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))
