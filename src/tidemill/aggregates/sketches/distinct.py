"""Distinct counts by HyperLogLog and by theta sketches.

Merged in any order they are what one sketch of all values is.

>>> few, many = (Theta(12).make(range(n), []) for n in (9, 90))
>>> Theta(12).merged([few, many]).get_estimate()
90.0
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import datasketches

from tidemill.aggregates.encoded import Encoded
from tidemill.aggregates.sketches.base import KeySketchLane, State
from tidemill.aggregates.sketches.keys import SketchKey
from tidemill.aggregates.sketches.registers import is_full, merged_registers, summed
from tidemill.arrays import IntArray
from tidemill.types import STRING

# The relative standard error of an HLL union is this over the root of its registers: the root
# of 3 ln 2 - 1. Of theta it is 1.
HLL_FACTOR = 1.03896
# The library takes no empty text for a value, in Java neither. In Catalyst it is replaced alike.
_FOR_EMPTY = "\0"


def hll_log_size(error: float) -> int:
    """Twice the registers make a root less of error."""
    return max(7, math.ceil(2 * math.log2(HLL_FACTOR / error)))


def theta_log_size(error: float) -> int:
    """Twice the hashes make a root less of error."""
    return max(7, math.ceil(math.log2(1 + 1 / error**2)))


@dataclass(frozen=True)
class HyperLogLog:
    """Of 2^log_size registers, a byte each, always as bytes."""

    log_size: int

    def make(self, keys: Sequence[SketchKey], counts: Sequence[int]) -> State:
        sketch = datasketches.hll_sketch(self.log_size, datasketches.HLL_8)
        _update(sketch, keys)
        return bytes(sketch.serialize_compact())

    def merged(self, states: Sequence[State]) -> State:
        full = [state for state in states if is_full(state)]
        if full:
            return merged_registers(full, [state for state in states if not is_full(state)])
        union = datasketches.hll_union(self.log_size)
        for state in states:
            union.update(datasketches.hll_sketch.deserialize(state))
        return bytes(union.get_result(datasketches.HLL_8).serialize_compact())

    def to_bytes(self, state: State) -> bytes:
        return summed(state)


@dataclass(frozen=True)
class Theta:
    """Of the 2^log_size least hashes."""

    log_size: int

    def make(self, keys: Sequence[SketchKey], counts: Sequence[int]) -> State:
        sketch = datasketches.update_theta_sketch(self.log_size)
        _update(sketch, keys)
        return sketch.compact(ordered=False)

    def merged(self, states: Sequence[State]) -> State:
        union = datasketches.theta_union(self.log_size)
        for state in states:
            union.update(self.read(state))
        # To put hashes in order would take as long as to merge them.
        return union.get_result(ordered=False)

    def read(self, state: State) -> Any:
        if isinstance(state, bytes):
            return datasketches.compact_theta_sketch.deserialize(state)
        return state

    def to_bytes(self, state: State) -> bytes:
        return state if isinstance(state, bytes) else bytes(state.serialize())


def _update(sketch: Any, keys: Sequence[SketchKey]) -> None:
    if keys and isinstance(keys[0], str):
        keys = [key or _FOR_EMPTY for key in keys]
    # A deque of no length is the fastest way to call something for each.
    deque(map(sketch.update, keys), maxlen=0)


class DistinctLane(KeySketchLane):
    """A sketch of the set of values."""

    function: ClassVar[str]  # Spark's

    def scaled(self, lane_rows: Encoded, weights: IntArray) -> Encoded:
        return lane_rows

    def _aggregate_sql(self, value: str) -> str | None:
        key = self._key_sql(value)
        if self.type == STRING:
            # Spark leaves empty texts out of these sketches, as the library does in Python.
            key = f"IF({value} = '', '\\0', {value})"
        return None if key is None else f"{self.function}({key}, {self.size})"


class HllLane(DistinctLane):
    """2^size registers."""

    kind: ClassVar[str] = "hll"
    function: ClassVar[str] = "HLL_SKETCH_AGG"

    @property
    def family(self) -> HyperLogLog:
        return HyperLogLog(self.size)


class ThetaLane(DistinctLane):
    """The 2^size least hashes."""

    kind: ClassVar[str] = "theta"
    function: ClassVar[str] = "THETA_SKETCH_AGG"

    @property
    def family(self) -> Theta:
        return Theta(self.size)
