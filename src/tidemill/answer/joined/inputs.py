"""What a join of windows is answered from: cells of each side, and instants at which one looks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from tidemill.aggregates import ROWS, Lane
from tidemill.arrays import IntArray
from tidemill.plan.window_join import SidePlace
from tidemill.state.cells import Cells
from tidemill.types import Type


@dataclass(frozen=True)
class SideCells:
    """The cells of a side; their signatures are numbers of readings, and ROWS is among the lanes.

    The columns of their groups are the join key, then flags, then what else is grouped by.
    """

    cells: Cells
    lanes: tuple[Lane, ...]

    def __post_init__(self) -> None:
        assert ROWS in self.lanes
        assert len(self.lanes) == len(self.cells.lanes)

    @staticmethod
    def without_rows(lanes: tuple[Lane, ...], columns: int) -> SideCells:
        """Of a side that has no cells, with so many columns of groups."""
        nowhere = np.zeros(0, np.int64)
        groups = pa.table({f"_k{place}": pa.nulls(0) for place in range(columns)})
        absent = tuple(lane.absent(0) for lane in lanes)
        no_readings = np.zeros((0, 0), np.int64)
        cells = Cells(nowhere, nowhere, nowhere, groups, nowhere, no_readings, absent)
        return SideCells(cells, lanes)

    @cached_property
    def rows_place(self) -> int:
        """Where ROWS is among the lanes."""
        return self.lanes.index(ROWS)


@dataclass(frozen=True)
class SideWindows:
    """By look, the window of one side: its reading, -1 if it has no rows, and its bounds.

    A look is one instant of one query.
    """

    readings: IntArray
    starts_us: IntArray
    ends_us: IntArray

    def __len__(self) -> int:
        return len(self.readings)


@dataclass(frozen=True)
class JoinedLanes:
    """What cells of the join have: keys of these types, and lanes in their order.

    Each lane is one of a side, told by its place among that side's lanes; None: it counts the
    rows of the join.
    """

    keys: tuple[Type, ...]
    lanes: tuple[Lane, ...]
    places: tuple[SidePlace | None, ...]

    def __post_init__(self) -> None:
        assert ROWS in self.lanes
        assert len(self.lanes) == len(self.places)
