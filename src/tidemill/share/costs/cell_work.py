"""The work on cells: how much a cell takes, by its lanes and rows, and how often ticks read it.

The machine's figures say what a cell takes that only counts its rows, and what one entry of a
lane of each cost family adds. Most lanes have one entry; values and sketches have one for each
value that they have seen.

A tick reads every slice from the start of the earliest window that is due to the end of the
latest one, once for all of them. So a synopsis is read as far back as its longest window reaches,
as often as that one is due, and each of its cells costs as often as it lies in such a span.

>>> second = 1_000_000
>>> minute = WindowSpec(60 * second, 10 * second)
>>> reads_per_cell([minute], tick_seconds=40.0), reads_per_cell([minute], tick_seconds=5.0)
(2.25, 6.0)
>>> reads_per_cell([minute, WindowSpec(5 * second, 5 * second)], tick_seconds=5.0)
6.5
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields

import numpy as np

from tidemill.aggregates import ROWS, Lane
from tidemill.share.weave import CellCosts, MachineCosts
from tidemill.windows import WindowSpec

_US_PER_SECOND = 1_000_000
# Of long windows, between two snapshots: counted where cells have two buckets.
_MEAN_PIECES = 12


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
    """Rows are put into a lane one by one and files opened, whatever entries there are."""
    times = dict.fromkeys(_NAMES, entries) | {"row_ns": 1.0, "open_ns": 1.0}
    times["probe_ns"] = entries * merges
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
        open_ns=machine.open_ns,
    )


def reads_per_cell(windows: Iterable[WindowSpec], tick_seconds: float) -> float:
    """The mean number of ticks that read a cell before it expires.

    Windows that end together are due together; those of other slides are taken to be due by
    chance, so that the longest that happens to be due tells how far back a tick reads.
    """
    spans = _spans_us(windows)
    if not spans:
        return 0.0
    tick_us = tick_seconds * _US_PER_SECOND
    slides = np.array([slide for slide, _ in spans], np.float64)
    # Of windows that are due several times in a tick, the first began that much earlier.
    reach = np.array([*spans.values()], np.float64) + np.maximum(0.0, tick_us - slides)
    order = np.argsort(-reach, kind="stable")
    is_due = np.minimum(1.0, tick_us / slides)[order]
    is_longest = is_due * np.concatenate([[1.0], np.cumprod(1 - is_due)[:-1]])
    return float((reach[order] * is_longest).sum() / tick_us)


def opened_pieces(windows: Iterable[WindowSpec], tick_seconds: float) -> float:
    """The mean number of pieces that a tick opens: all that stand, where some window is due.

    >>> minute = WindowSpec(60_000_000, 60_000_000)
    >>> [round(opened_pieces([minute], seconds), 3) for seconds in (60.0, 6.0)]
    [2.0, 1.1]
    """
    spans = _spans_us(windows)
    tick_us = tick_seconds * _US_PER_SECOND
    is_due = np.array([min(1.0, tick_us / slide) for slide, _ in spans])
    standing = min(_MEAN_PIECES, 1 + max(spans.values(), default=0) / tick_us)
    return float(1 - np.prod(1 - is_due)) * standing


def longest_seconds(windows: Iterable[WindowSpec]) -> float:
    """How long a cell is kept: as long as the longest window."""
    return max((window.range_us for window in windows), default=0) / _US_PER_SECOND


def _spans_us(windows: Iterable[WindowSpec]) -> dict[tuple[int, int], int]:
    """The longest range of the windows that end together, by slide and end."""
    longest: dict[tuple[int, int], int] = {}
    for window in windows:
        slide_us = window.slide_us
        ends = slide_us, (window.start_us + window.range_us) % slide_us
        longest[ends] = max(longest.get(ends, 0), window.range_us)
    return longest
