"""Sketches of the rows of a lane: read when they are first asked about, and once.

Sketches that meet in a cell are merged by the library when pieces are folded. For the windows
of a tick nothing is merged: what the sketches hold is laid out flat, values, hashes, coupons or
counts, and swept over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from tidemill.aggregates import Encoded, Kept, Lane, sketches
from tidemill.aggregates.estimates import Estimates
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


class Reader:
    """The sketches of a lane as they were kept."""

    def __init__(self, lane: Lane, states: Array) -> None:
        self._lane, self._states = lane, states

    @cached_property
    def cells(self) -> SketchCells:
        lane, kept = self._lane, self._bytes()
        if lane.kind == "kll":
            return QuantileCells.read(kept, lane.size)
        if lane.kind == "theta":
            return ThetaCells.read(kept)
        if lane.kind == "hll":
            return RegisterCells.read(kept, lane.size)
        if lane.kind == "countmin":
            return CountMinCells.read(kept, lane.size, lane.type)
        return ItemCells.read(kept, lane.size, lane.type)

    def _bytes(self) -> Sequence[bytes | None]:
        to_bytes = sketches.family(self._lane.kind, self._lane.size, self._lane.type).to_bytes
        return [
            state if state is None or isinstance(state, bytes) else to_bytes(state)
            for state in self._states.tolist()
        ]


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
    readers, kept = dict[Lane, Reader](), list[Kept]()
    for lane, mine in zip(lanes, cells.lanes, strict=True):
        if lane.is_sketch and isinstance(mine, Encoded):
            readers[lane] = Reader(lane, mine.values)
            mine = Encoded(np.arange(len(mine.values)), None)
        kept.append(mine)
    return replace(cells, lanes=tuple(kept)), readers
