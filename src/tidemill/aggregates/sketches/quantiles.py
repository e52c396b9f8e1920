"""Percentiles by KLL sketches of doubles.

The rank of what a sketch of size k calls the p-quantile is p within 2.296 / k^0.9723, 99 of 100
times. So the quantiles that far to both sides are bounds of the true one. NaN is left out, as
Spark's own sketch leaves it out. A sketch draws lots when it thins its values: the same
rows may give other estimates another time, within the same bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import datasketches

from tidemill.aggregates.sketches.base import State
from tidemill.arrays import FloatArray


@dataclass(frozen=True)
class Quantiles:
    """Sketches of size k."""

    size: int

    def of(self, values: FloatArray) -> State:
        sketch = datasketches.kll_doubles_sketch(self.size)
        sketch.update(values)
        return sketch

    def merged(self, states: Sequence[State]) -> State:
        union = datasketches.kll_doubles_sketch(self.size)
        for state in states:
            union.merge(self.read(state))
        return union

    def read(self, state: State) -> Any:
        if isinstance(state, bytes):
            return datasketches.kll_doubles_sketch.deserialize(state)
        return state

    def to_bytes(self, state: State) -> bytes:
        return state if isinstance(state, bytes) else bytes(state.serialize())
