"""Combined lanes as the lowering of an aggregate finds them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.aggregates.bags import ValueCounts
from tidemill.aggregates.encoded import Encoded
from tidemill.aggregates.estimates import Estimates, Sketched
from tidemill.aggregates.lanes import Lane
from tidemill.aggregates.limbs import to_integers
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.plan.query import AggregateCall


@dataclass(frozen=True)
class Picked:
    """Some values of each cell, by their codes, and what each weighs there."""

    sizes: IntArray
    codes: NDArray[np.int32]
    weights: Array

    @property
    def offsets(self) -> IntArray:
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def owner(self) -> IntArray:
        """The cell of each value."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


@dataclass(frozen=True)
class FrequentValues:
    """By cell the threshold and how many values are above it; of these, bounds of the counts."""

    delta: IntArray
    sizes: IntArray
    codes: IntArray
    low: IntArray
    high: IntArray


class BagWindows(ValueCounts, Protocol):
    """The bags of all cells behind each of some windows and groups."""

    def __len__(self) -> int: ...

    def distinct(self) -> IntArray: ...

    def percentile(self, fraction: float, numbers: Array) -> tuple[Array, BoolArray]: ...

    def pick(self, most: int, by_weight: bool) -> Picked: ...

    def frequent(self, most: int, length_us: int) -> FrequentValues: ...


# A lane of the cells that are answered.
Lowering = Encoded | BagWindows | Sketched
# Values, and where Spark would have raised (the value is NULL there).
Lowered = tuple[pa.Array, BoolArray]
# Values, which of them are not NULL, and where Spark would have raised; None: all, nowhere.
Numbers = tuple[Array, BoolArray | None, BoolArray | None]


@dataclass(frozen=True)
class CombinedLanes:
    """The lanes behind one call, combined for each of some windows and groups.

    A value and its bounds are estimated together, and kept for the calls to come.
    """

    by_lane: Mapping[Lane, Lowering]
    estimated: dict[Hashable, Estimates] = field(default_factory=dict)

    def encoded(self, lane: Lane) -> Encoded:
        """A lane with a value for each cell."""
        return cast(Encoded, self.by_lane[lane])

    def counts(self, lane: Lane) -> Array:
        """A count for each cell: 64-bit integers, or Python's own where these are too short."""
        values = self.encoded(lane).values
        return to_integers(values) if values.ndim == 2 else values

    def bags(self, lane: Lane) -> BagWindows:
        return cast(BagWindows, self.by_lane[lane])

    def sketches(self, lane: Lane) -> Sketched:
        return cast(Sketched, self.by_lane[lane])

    def estimates(self, call: AggregateCall, lane: Lane) -> Estimates:
        """Of the call and of all others that differ in their part alone."""
        shared = call.function, call.argument, call.parameters
        if shared not in self.estimated:
            self.estimated[shared] = self.sketches(lane).estimates(call)
        return self.estimated[shared]


def listed(offsets: IntArray, values: pa.Array, kind: pa.DataType, absent: BoolArray) -> pa.Array:
    """Lists of the type, cut at the offsets; NULL where absent."""
    places = pa.array(offsets.astype(np.int32))
    return pa.ListArray.from_arrays(places, values, mask=pa.array(absent)).cast(kind)


def nowhere(rows: int) -> BoolArray:
    """No row raised."""
    return np.zeros(rows, dtype=np.bool_)
