"""One lane of the cells: how it is given, and made ready for windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tidemill.aggregates import Bags, Lane, LaneArray
from tidemill.aggregates.algebra import COUNT, INTEGER_SUM, Algebra, masked
from tidemill.aggregates.lanes import KernelLane
from tidemill.aggregates.limbs import summable
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.state.kernels import Combiner, combiner
from tidemill.state.layouts.cell_runs import Apart
from tidemill.state.sketched.rows import Reader, SketchRows

# Combined values, and which of them are not NULL (None: all). Under a NULL is the identity.
CombinedValues = tuple[Array, BoolArray | None]
# (values by row, how they combine) ⇒ the cells a kernel takes.
Lay = Callable[[Array, Algebra], Array]


@dataclass(frozen=True)
class LaneValues:
    """Values by row (or rows by limbs), how they combine, and which are not NULL (None: all)."""

    values: Array
    algebra: Algebra
    valid: BoolArray | None = None

    def take(self, rows: IntArray | slice) -> LaneValues:
        valid = None if self.valid is None else self.valid[rows]
        return LaneValues(self.values[rows], self.algebra, valid)


# What a lane is given as.
LaneRows = LaneValues | Apart


def rows_of(
    lane: Lane,
    lane_rows: LaneArray,
    start_us: IntArray,
    readers: Mapping[Lane, Reader],
) -> LaneRows:
    """The rows of a lane as cells have it; of sketches they are places in a reader."""
    if isinstance(lane_rows, Bags):
        return replace(lane_rows, start_us=start_us)
    if isinstance(lane, KernelLane):
        return LaneValues(lane_rows.values, lane.algebra, lane_rows.valid)
    return SketchRows(readers[lane], lane_rows.values)


class PreparedLane:
    """A lane in the hands of its kernel; nothing is done before the first question.

    Limbs are given up where 64 bits surely hold every sum: a third of the work.
    """

    def __init__(self, lane: LaneValues, lay: Lay, windows: tuple[IntArray, IntArray]) -> None:
        self._lane, self._lay, self._like = lane, lay, windows

    def windows(self, lo: IntArray, hi: IntArray) -> CombinedValues:
        valid = None if self._valid is None else self._valid.windows(lo, hi) > 0
        return self._values.windows(lo, hi), valid

    def at(self, lo: IntArray, hi: IntArray, group: IntArray) -> CombinedValues:
        valid = None if self._valid is None else self._valid.at(lo, hi, group) > 0
        return self._values.at(lo, hi, group), valid

    @cached_property
    def _values(self) -> Combiner:
        algebra = self._lane.algebra
        values = masked(self._lane.values, self._lane.valid, algebra)
        if algebra is INTEGER_SUM:
            values = summable(values)
        return combiner(self._lay(values, algebra), *self._like, algebra)

    @cached_property
    def _valid(self) -> Combiner | None:
        if self._lane.valid is None:
            return None
        known = self._lay(self._lane.valid.astype(np.int64), COUNT)
        return combiner(known, *self._like, COUNT)
