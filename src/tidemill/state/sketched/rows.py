"""Sketches of the rows of a lane: read when they are first asked about, and once.

Sketches that meet in a cell are merged by the library when pieces are folded. For the windows
of a tick nothing is merged: what the sketches hold is laid out flat, values, hashes, coupons or
counts, and swept over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from tidemill.aggregates import Encoded, Lane, LaneArray
from tidemill.aggregates.estimates import Estimates
from tidemill.aggregates.sketches import (
    CountMinLane,
    HllLane,
    ItemsLane,
    KllLane,
    SketchLane,
    ThetaLane,
)
from tidemill.arrays import Array, IntArray
from tidemill.plan.query import AggregateCall
from tidemill.state.cells import Cells
from tidemill.state.sketched.counting import CountMinCells
from tidemill.state.sketched.items import ItemCells
from tidemill.state.sketched.quantiles import QuantileCells
from tidemill.state.sketched.registers import RegisterCells
from tidemill.state.sketched.theta import ThetaCells


class SketchCells(Protocol):
    """Cells with a sketch each, asked about runs `first:last` of them, in order."""

    def take(self, rows: IntArray) -> SketchCells: ...

    def estimates(self, call: AggregateCall, first: IntArray, last: IntArray) -> Estimates: ...


# Each kind of sketch is swept over in its own way.
_READ: dict[type[SketchLane], Callable[[Sequence[bytes | None], SketchLane], SketchCells]] = {
    KllLane: lambda states, lane: QuantileCells.read(states, lane.size),
    ThetaLane: lambda states, _: ThetaCells.read(states),
    HllLane: lambda states, lane: RegisterCells.read(states, lane.size),
    CountMinLane: lambda states, lane: CountMinCells.read(states, lane.size, lane.type),
    ItemsLane: lambda states, lane: ItemCells.read(states, lane.size, lane.type),
}


class Reader:
    """The sketches of a lane as they were kept."""

    def __init__(self, lane: SketchLane, states: Array) -> None:
        self._lane, self._states = lane, states

    @cached_property
    def cells(self) -> SketchCells:
        return _READ[type(self._lane)](self._lane.bytes_of(self._states), self._lane)


@dataclass(frozen=True)
class SketchRows:
    """Some rows of what a reader has, any of them any number of times."""

    reader: Reader
    rows: IntArray

    def take(self, rows: IntArray) -> SketchRows:
        return SketchRows(self.reader, self.rows[rows])

    @cached_property
    def cells(self) -> SketchCells:
        return self.reader.cells.take(self.rows)


@dataclass(frozen=True)
class SketchRuns:
    """For each cell of a block, the run `first:last` of cells behind it."""

    of: SketchRows
    first: IntArray
    last: IntArray

    def __len__(self) -> int:
        return len(self.first)

    def estimates(self, call: AggregateCall) -> Estimates:
        return self.of.cells.estimates(call, self.first, self.last)

    def most_frequent(self, call: AggregateCall) -> pa.Array:
        cells = self.of.cells
        assert isinstance(cells, ItemCells)
        return cells.most_frequent(call, self.first, self.last)


def set_apart(lanes: Sequence[Lane], cells: Cells) -> tuple[Cells, dict[Lane, Reader]]:
    """The cells with places in readers in place of sketches, which may then be read often."""
    readers, lane_arrays = dict[Lane, Reader](), list[LaneArray]()
    for lane, lane_rows in zip(lanes, cells.lanes, strict=True):
        if isinstance(lane, SketchLane) and isinstance(lane_rows, Encoded):
            readers[lane] = Reader(lane, lane_rows.values)
            lane_rows = Encoded(np.arange(len(lane_rows.values)), None)
        lane_arrays.append(lane_rows)
    return replace(cells, lanes=tuple(lane_arrays)), readers
