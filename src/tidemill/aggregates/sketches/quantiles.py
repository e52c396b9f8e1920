"""Percentiles by KLL sketches of doubles.

The rank of what a sketch of size k calls the p-quantile is p within 2.296 / k^0.9723, 99 of 100
times. So the quantiles that far to both sides are bounds of the true one. NaN is left out, as
Spark's own sketch leaves it out. A sketch draws lots when it thins its values: the same
rows may give other estimates another time, within the same bounds.

>>> sketch = Quantiles(200).of(np.arange(100.0))
>>> Quantiles(200).quantile(sketch, 0.5)
(49.0, 49.0, 49.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import datasketches
import numpy as np
from numpy.typing import NDArray

from tidemill.aggregates.sketches.base import State
from tidemill.plan.aggregates.sketches import quantile_error


@dataclass(frozen=True)
class Quantiles:
    """Sketches of size k."""

    size: int

    def of(self, values: NDArray[np.float64]) -> State:
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

    def quantile(self, state: State, rank: float) -> tuple[float, float, float] | None:
        """The least value with so large a share of all at or below it, and its bounds."""
        sketch = self.read(state)
        if sketch.is_empty():
            return None
        error = quantile_error(self.size) if sketch.is_estimation_mode() else 0.0
        found = _quantile(sketch, rank)
        if error == 0.0 or rank in (0.0, 1.0):
            return found, found, found
        return found, _quantile(sketch, rank - error), _quantile(sketch, rank + error)


def _quantile(sketch: Any, rank: float) -> float:
    """The ends are always known, also where the sketch has thinned them out."""
    if rank <= 0.0:
        return float(sketch.get_min_value())
    return float(sketch.get_max_value() if rank >= 1.0 else sketch.get_quantile(rank, True))
