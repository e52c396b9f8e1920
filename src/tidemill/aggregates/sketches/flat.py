"""The bytes of many sketches in one array, for compiled loops to read.

>>> found = flatten_bytes([b"ab", None, b"c"])
>>> found.data.tolist(), found.at.tolist()
([97, 98, 99], [0, 2, 2, 3])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.arrays import Array, IntArray
from tidemill.compiling import compiled


@dataclass(frozen=True)
class Flat:
    """Sketch i has the bytes `at[i]:at[i + 1]`; where there is none it has no bytes."""

    data: NDArray[np.uint8]
    at: IntArray

    @property
    def sizes(self) -> IntArray:
        return np.diff(self.at)


def flatten_bytes(states: Sequence[bytes | None]) -> Flat:
    column = pa.array(states, pa.large_binary())
    _, offsets, data = column.buffers()
    at = np.frombuffer(offsets, np.int64)[: len(states) + 1] if states else np.zeros(1, np.int64)
    return Flat(np.frombuffer(data or b"", np.uint8), at)


def flatten_plain(
    states: Sequence[bytes | None], place: int, is_plain: Callable[[Array], Array], read: Any
) -> Flat:
    """The same, after the library has written those anew that are in another of its forms.

    The byte at the place tells which they are.
    """
    sketches = flatten_bytes(states)
    there = np.flatnonzero(sketches.sizes > place)
    odd = there[~is_plain(sketches.data[sketches.at[there] + place])].tolist()
    if not odd:
        return sketches
    written = list(states)
    for row in odd:
        written[row] = read(states[row])
    return flatten_bytes(written)


@compiled
def read_whole(data: Array, at: int, size: int) -> Any:
    """The number that so many bytes are, the lowest first; bytes of sketches are not aligned."""
    number = np.int64(0)
    for byte in range(size):
        number |= np.int64(data[at + byte]) << (8 * byte)
    return number
