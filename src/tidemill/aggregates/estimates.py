"""Estimates and their bounds, from sketches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from tidemill.arrays import Array
from tidemill.plan.query import AggregateCall

# Bounds of distinct counts are so many standard deviations away: they hold 95 times in 100.
DEVIATIONS = 2


@dataclass(frozen=True)
class Estimates:
    """Of some windows and groups, and where there is a value at all."""

    value: Array
    low: Array
    high: Array
    is_known: Array

    def part(self, name: str) -> tuple[Array, Array]:
        """The value, a bound, or whether it is estimated: exact is what leaves no doubt."""
        if name == "estimated":
            return (self.low < self.high).astype(np.float64), np.ones(len(self.low), np.bool_)
        return {"": self.value, "low": self.low, "high": self.high}[name], self.is_known


class Sketched(Protocol):
    """The sketches of all cells behind each of some windows and groups."""

    def __len__(self) -> int: ...

    def estimates(self, call: AggregateCall) -> Estimates: ...

    def most_frequent(self, call: AggregateCall) -> pa.Array: ...


def whole_counts(estimate: Array, low: Array, high: Array) -> Estimates:
    """Counts are whole, so the bounds are the last whole numbers inside of them.

    >>> found = whole_counts(np.array([7.0, 7.6]), np.array([6.9, 5.2]), np.array([7.1, 9.9]))
    >>> found.value.tolist(), found.low.tolist(), found.high.tolist()
    ([7, 8], [7, 6], [7, 9])
    """
    value, least, most = (
        found.astype(np.int64) for found in (np.rint(estimate), np.ceil(low), np.floor(high))
    )
    is_known = np.ones(len(value), np.bool_)
    return Estimates(value, np.minimum(least, value), np.maximum(most, value), is_known)
