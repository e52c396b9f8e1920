"""What a cell takes, by its lanes and by how many rows it has.

The machine's figures say what a cell takes that only counts its rows, and what one entry of a
lane of each cost family adds. Most lanes have one entry; values and sketches have one for each
value that they have seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields

from tidemill.aggregates import ROWS, Lane
from tidemill.share.weave import CellCosts, MachineCosts


@dataclass(frozen=True, eq=False)
class LaneWork:
    """The lanes of a cell: those of one entry added up, the others with how many they may have."""

    single: CellCosts
    others: tuple[tuple[CellCosts, float], ...]
    _by_rows: dict[int, CellCosts] = field(default_factory=dict)

    @staticmethod
    def of(
        machine: MachineCosts, lanes: Iterable[Lane], values: Callable[[Lane], float]
    ) -> LaneWork:
        """`values` tells how many different ones the argument of a lane has."""
        single, others = _bare(machine), list[tuple[CellCosts, float]]()
        for lane in lanes:
            costs = machine.lanes[lane.cost_family]
            if lane.most_entries > 1:
                others.append((costs, min(lane.most_entries, values(lane))))
            elif lane != ROWS:
                single = _with_lane(single, costs, 1.0, merges=not lane.subtractable)
        return LaneWork(single, tuple(others))

    def of_rows(self, rows: float) -> CellCosts:
        """Of a cell with so many rows; what is near enough is worked out once."""
        if not self.others:
            return self.single
        step = round(8 * math.log2(max(1.0, rows)))
        if step not in self._by_rows:
            self._by_rows[step] = self._with_others(2 ** (step / 8))
        return self._by_rows[step]

    def _with_others(self, rows: float) -> CellCosts:
        work = self.single
        for costs, most in self.others:
            entries = most * -math.expm1(-rows / most)
            work = _with_lane(work, costs, max(1.0, entries), merges=True)
        return work


_NAMES = tuple(field.name for field in fields(CellCosts))


def _with_lane(cell: CellCosts, lane: CellCosts, entries: float, merges: bool) -> CellCosts:
    """Rows are put into a lane one by one, whatever entries they make."""
    times = dict.fromkeys(_NAMES, entries) | {"row_ns": 1.0, "probe_ns": entries * merges}
    return CellCosts(*(getattr(cell, n) + times[n] * getattr(lane, n) for n in _NAMES))


def _bare(machine: MachineCosts) -> CellCosts:
    """A cell that only counts its rows; what a row of it takes is the scan's."""
    return CellCosts(
        row_ns=0.0,
        partial_ns=machine.partial_ns,
        fold_ns=machine.fold_ns,
        keep_ns=machine.keep_ns,
        read_ns=machine.read_ns,
        combine_ns=machine.combine_ns,
        answer_ns=machine.answer_ns,
        probe_ns=0.0,
    )
