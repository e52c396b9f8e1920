"""Lower: merged sketches ⇒ estimates and their bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.aggregates import sketches
from tidemill.aggregates.lanes import Lane
from tidemill.aggregates.sketches.frequent import Item
from tidemill.aggregates.sketches.keys import in_order, values_of
from tidemill.plan.aggregates.keys import key_of
from tidemill.plan.model import AggregateCall

States = NDArray[Any]
# An estimate and its bounds; None: there is no value.
Estimate = tuple[Any, Any, Any] | None


@dataclass(frozen=True)
class Estimates:
    """What the states of a lane come to, and where that is not NULL."""

    value: States
    low: States
    high: States
    known: States

    def part(self, name: str) -> tuple[States, States]:
        """The value, a bound, or whether it is estimated: exact is what leaves no doubt."""
        if name == "estimated":
            return (self.low < self.high).astype(np.float64), np.ones(len(self.low), np.bool_)
        return {"": self.value, "low": self.low, "high": self.high}[name], self.known


def estimates(call: AggregateCall, lane: Lane, states: States) -> Estimates:
    measure = _measure(call, lane)
    found = [measure(state) for state in states.tolist()]
    known = np.array([one is not None for one in found], np.bool_)
    whole = [(0, 0, 0) if one is None else one for one in found]
    numbers = np.array(whole, np.float64 if lane.kind == "kll" else np.int64).reshape(-1, 3)
    return Estimates(numbers[:, 0], numbers[:, 1], numbers[:, 2], known)


def _measure(call: AggregateCall, lane: Lane) -> Callable[[Any], Estimate]:
    """The estimate of a state. Of nothing at all there are 0 values, and no percentile.

    Of frequent items, which are no number, there is only whether they are exact.
    """
    if lane.kind == "items":
        items = sketches.Items(lane.size, sketches.is_text_key(lane.type))
        return lambda state: (0, 0, int(state is not None and not items.is_exact(state)))
    if lane.kind == "kll":
        quantiles, rank = sketches.Quantiles(lane.size), float(str(call.parameters[0]))
        return lambda state: None if state is None else quantiles.quantile(state, rank)
    if lane.kind == "countmin":
        counts, key = sketches.CountMin(lane.size), key_of(call.parameters[0], lane.type)
        return lambda state: (0, 0, 0) if state is None else counts.counted(state, key)
    kind = sketches.HyperLogLog if lane.kind == "hll" else sketches.Theta
    distinct = kind(lane.size)
    return lambda state: (0, 0, 0) if state is None else distinct.counted(state)


def most_frequent(call: AggregateCall, lane: Lane, states: States) -> pa.Array:
    """The k values of each state that are there most often; of equal ones the least come first."""
    family = sketches.Items(lane.size, sketches.is_text_key(lane.type))
    limit, rank = int(str(call.parameters[0])), in_order(lane.type)
    runs = [[] if state is None else family.top(state, limit, rank) for state in states.tolist()]
    return _listed(call, lane, runs)


def _listed(call: AggregateCall, lane: Lane, runs: list[list[Item]]) -> pa.Array:
    """Lists of structs, NULL in place of an empty one."""
    lengths = [len(run) for run in runs]
    columns = list(zip(*(item for run in runs for item in run), strict=True)) or [(), (), (), ()]
    counts = [pa.array(column, pa.int64()) for column in columns[1:]]
    structs = pa.StructArray.from_arrays(
        [values_of(columns[0], lane.type), *counts], ["value", "count", "low", "high"]
    )
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    empty = pa.array([not length for length in lengths], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets), structs, mask=empty).cast(
        call.slot.type.arrow
    )
