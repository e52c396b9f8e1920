"""Lower of what is worked out from the bags of windows."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.aggregates.limbs import to_decimal, to_int64
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.language.durations import parse_duration
from tidemill.plan.query import AggregateCall
from tidemill.types import Type


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
class Frequent:
    """By cell the threshold and how many values are above it; of these, bounds of the counts."""

    delta: IntArray
    sizes: IntArray
    codes: IntArray
    low: IntArray
    high: IntArray


class Runs(Protocol):
    """The bags of all cells behind each of some windows and groups."""

    def __len__(self) -> int: ...

    @property
    def dictionary(self) -> pa.Array: ...

    def distinct(self) -> IntArray: ...

    def total(self) -> IntArray: ...

    def percentile(self, fraction: float, numbers: Array) -> tuple[Array, BoolArray]: ...

    def pick(self, most: int, by_weight: bool) -> Picked: ...

    def frequent(self, most: int, length_us: int) -> Frequent: ...


def numbers(call: AggregateCall, runs: Runs) -> tuple[Array, BoolArray | None]:
    """Plain numbers, and which of them are not NULL."""
    if call.function == "COUNT_DISTINCT":
        return runs.distinct(), None
    if call.part == "total":
        return runs.total(), None
    if call.part == "delta":
        return runs.frequent(*_subwindows(call)).delta, None
    fraction = call.parameters[0] if call.function == "PERCENTILE" else 0.5
    assert isinstance(fraction, int | float | Decimal)
    return runs.percentile(float(fraction), _doubles(runs.dictionary))


def lists(call: AggregateCall, runs: Runs) -> tuple[pa.Array, BoolArray]:
    """Arrays, and where Spark would have raised. Where there is no value they are NULL."""
    nowhere = np.zeros(len(runs), np.bool_)
    if call.function == "FREQUENT":
        return _frequent(runs, call), nowhere
    (most,) = call.parameters
    assert isinstance(most, int)
    if call.function == "COLLECT":
        return _collected(runs, most, call.slot.type), nowhere
    picked = runs.pick(most, by_weight=True)
    weights, lost = _weights(picked.weights, call.slot.type)
    pairs = pa.StructArray.from_arrays(
        [runs.dictionary.take(pa.array(picked.codes)), weights], ["value", "weight"]
    )
    raised = nowhere
    raised[picked.owner[lost]] = True
    return _listed(picked.offsets, pairs, call.slot.type, picked.sizes == 0), raised


def _collected(runs: Runs, most: int, kind: Type) -> pa.Array:
    """The least values, each as often as it is there, up to so many."""
    picked = runs.pick(most, by_weight=False)
    counts = picked.weights[0]
    passed = np.concatenate([[0], np.cumsum(counts)])
    ahead = passed[:-1] - passed[picked.offsets[:-1]][picked.owner]
    kept = np.clip(most - ahead, 0, counts)
    values = runs.dictionary.take(pa.array(np.repeat(picked.codes, kept)))
    sizes = np.bincount(picked.owner, kept, minlength=len(runs)).astype(np.int64)
    return _listed(np.concatenate([[0], np.cumsum(sizes)]), values, kind, sizes == 0)


def _frequent(runs: Runs, call: AggregateCall) -> pa.Array:
    """Where there are values but none above the threshold, the array is empty."""
    found = runs.frequent(*_subwindows(call))
    values = runs.dictionary.take(pa.array(found.codes))
    bounds = [pa.array(found.low), pa.array(found.high)]
    triples = pa.StructArray.from_arrays([values, *bounds], ["value", "low", "high"])
    offsets = np.concatenate([[0], np.cumsum(found.sizes)])
    return _listed(offsets, triples, call.slot.type, runs.total() == 0)


def _subwindows(call: AggregateCall) -> tuple[int, int]:
    """How many values are listed, of sub-windows of which length."""
    most, length = call.parameters
    assert isinstance(most, int)
    assert isinstance(length, str)
    return most, parse_duration(length)


def _listed(offsets: IntArray, values: pa.Array, kind: Type, absent: BoolArray) -> pa.Array:
    places = pa.array(offsets.astype(np.int32))
    lists = pa.ListArray.from_arrays(places, values, mask=pa.array(absent))
    return lists.cast(kind.arrow)


def _weights(weights: Array, kind: Type) -> tuple[pa.Array, BoolArray]:
    """As Spark's sums are, NULL where one has too many digits; and where that is."""
    wanted = dict(kind.inner[0][1].inner)["weight"]
    if wanted.is_decimal:
        sums = to_decimal(weights.T, wanted.precision, wanted.scale)
        return sums, np.asarray(sums.is_null().to_numpy(zero_copy_only=False))
    if len(weights) == 1:
        return pa.array(weights[0]), np.zeros(weights.shape[1], np.bool_)
    values, overflow = to_int64(np.ascontiguousarray(weights.T))
    return pa.array(values, mask=overflow), overflow


def _doubles(dictionary: pa.Array) -> Array:
    """Decimals to the nearest double: Arrow's own cast may miss it by a bit."""
    if pa.types.is_decimal(dictionary.type):
        return np.array([float(value) for value in dictionary.to_pylist()], np.float64)
    return np.asarray(dictionary.to_numpy(zero_copy_only=False), np.float64)
