"""One lane of the cells: how it is given, and made ready for windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tidemill import aggregates
from tidemill.aggregates import Bags, Kept
from tidemill.aggregates.limbs import summable
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.state.combining import masked
from tidemill.state.kernels import COUNT, INTEGER_SUM, Algebra, Combiner, combiner
from tidemill.state.layouts.cell_runs import Apart
from tidemill.state.sketched.rows import Reader, SketchRows

# Combined values, and which of them are not NULL (None: all). Under a NULL is the identity.
Values = tuple[Array, BoolArray | None]
# (values by row, how they combine) ⇒ the cells a kernel takes.
Lay = Callable[[Array, Algebra], Array]


@dataclass(frozen=True)
class Lane:
    """Values by row (or rows by limbs), how they combine, and which are not NULL (None: all)."""

    values: Array
    algebra: Algebra
    valid: BoolArray | None = None

    def take(self, rows: IntArray | slice) -> Lane:
        valid = None if self.valid is None else self.valid[rows]
        return Lane(self.values[rows], self.algebra, valid)


# What a lane is given as.
Rows = Lane | Apart


def rows_of(
    kind: aggregates.Lane,
    kept: Kept,
    start_us: IntArray,
    sketches: Mapping[aggregates.Lane, Reader],
) -> Rows:
    """The rows of a lane as cells have it; of sketches they are places in a reader."""
    if isinstance(kept, Bags):
        return replace(kept, start_us=start_us)
    if kind.is_sketch:
        return SketchRows(sketches[kind], kept.values)
    return Lane(kept.values, kind.algebra, kept.valid)


class PreparedLane:
    """A lane in the hands of its kernel; nothing is done before the first question.

    Limbs are given up where 64 bits surely hold every sum: a third of the work.
    """

    def __init__(self, lane: Lane, lay: Lay, windows: tuple[IntArray, IntArray]) -> None:
        self._lane, self._lay, self._like = lane, lay, windows

    def windows(self, lo: IntArray, hi: IntArray) -> Values:
        valid = None if self._valid is None else self._valid.windows(lo, hi) > 0
        return self._values.windows(lo, hi), valid

    def at(self, lo: IntArray, hi: IntArray, group: IntArray) -> Values:
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
