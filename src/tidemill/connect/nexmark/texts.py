"""Random text for many rows at once: spans of one long text, cut out with arrays."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.lib.stride_tricks import sliding_window_view

from tidemill.arrays import Array, FloatArray, IntArray

_POOL_BYTES = 1 << 20
LONGEST = 1 << 10
_SHORTEST = 3
# One letter in so many is a special one, where a text has such.
_SPECIAL = 13
# So many rows at a time stay in a processor's cache.
_CHUNK_ROWS = 1 << 14


def texts_of(seed: int, special: str, most: int, starts: FloatArray, sizes: FloatArray) -> pa.Array:
    """Texts of 3 letters or more and fewer than `most`, without spaces around them."""
    lengths = _SHORTEST + (sizes * (most - _SHORTEST)).astype(np.int64)
    return pc.utf8_trim(spans_of(seed, special, starts, lengths), " ")


def spans_of(seed: int, special: str, starts: FloatArray, lengths: IntArray) -> pa.Array:
    """Texts of these lengths, at most `LONGEST`, from places in the pool told in [0, 1)."""
    pool, longest = _pool(seed, special), int(lengths.max(initial=1))
    first = (starts * (len(pool) - LONGEST)).astype(np.int64)
    windows, steps = sliding_window_view(pool, longest), np.arange(longest)
    parts = [
        windows[first[low : low + _CHUNK_ROWS]][steps < lengths[low : low + _CHUNK_ROWS, None]]
        for low in range(0, len(lengths), _CHUNK_ROWS)
    ]
    letters = np.concatenate(parts) if parts else pool[:0]
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(letters))


def padding(average: int, sizes: IntArray, draws: FloatArray) -> IntArray:
    """How many letters bring a row of this size to the average in the mean, by a fifth more or
    less; none where the row is longer."""
    wanting = np.maximum(average - sizes, 0)
    spread = np.rint(wanting * 0.2).astype(np.int64)
    return wanting - spread + (draws * 2 * spread).astype(np.int64)


@lru_cache(maxsize=8)
def _pool(seed: int, special: str) -> Array:
    random = np.random.Generator(np.random.SFC64([seed, *special.encode()]))
    letters = random.integers(ord("a"), ord("z") + 1, _POOL_BYTES, np.uint8)
    if special:
        letters[random.integers(_SPECIAL, size=_POOL_BYTES) == 0] = ord(special)
    return letters


def words_at(words: tuple[str, ...], draws: FloatArray) -> pa.Array:
    """One of the words for each draw."""
    return _words(words).take(pa.array((draws * len(words)).astype(np.int64)))


@lru_cache(maxsize=8)
def _words(words: tuple[str, ...]) -> pa.Array:
    return pa.array(words)
