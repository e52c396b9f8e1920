"""Costs of the engine's steps, in nanoseconds of one core.

The defaults were measured on two cores with `tidemill calibrate` and rounded. Who makes the
partials decides what a row costs; what follows is the same code whoever made them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tidemill.aggregates import CostFamily


@dataclass(frozen=True)
class CellCosts:
    """Of a cell; or of one entry of a lane, on top of what a cell costs that counts its rows."""

    row_ns: float = 0.0  # one row put into the lane
    partial_ns: float = 0.0  # one partial row more for the same rows
    fold_ns: float = 0.0  # one partial row rolled up and cut
    keep_ns: float = 0.0  # written with its cell
    read_ns: float = 0.0  # read again by a tick
    combine_ns: float = 0.0  # laid out and put into what windows are answered from
    answer_ns: float = 0.0  # one group of a window answered
    probe_ns: float = 0.0  # one merge more for that, where there is no subtraction
    open_ns: float = 0.0  # of one file more that is opened, however many cells it has


LANE_COSTS: Mapping[CostFamily, CellCosts] = {
    CostFamily.NUMBERS: CellCosts(5, 0.3, 1, 3, 0.1, 0.1, 0.1, 2.4, 35_000),
    CostFamily.EXTREMES: CellCosts(3, 1.5, 0.8, 3, 0.1, 3.5, 0.1, 2.5, 45_000),
    CostFamily.RECORDS: CellCosts(5, 4, 25, 13, 1.7, 60, 300, 38, 65_000),
    CostFamily.VALUES: CellCosts(25, 0.1, 1.4, 2.8, 0.9, 30, 75, 5.5, 140_000),
    CostFamily.SKETCHES: CellCosts(165, 90, 42, 16, 4.5, 20, 18, 1.7, 35_000),
    CostFamily.CODE: CellCosts(40, 38, 30, 14, 2, 45, 130, 15, 70_000),
}


@dataclass(frozen=True)
class MachineCosts:
    """Of one route from rows to partials; a calibration replaces the defaults, the arrays'.

    Cells are those that only count their rows; `lanes` says what each lane adds.
    """

    scan_ns: float = 73.0  # read one row, sign it and put it into its cell
    set_ns: float = 13.0  # put the row into another cell, for another sub-aggregation
    partial_ns: float = 35.0  # one partial row more for the same rows
    fold_ns: float = 14.0  # one partial row rolled up and cut for one synopsis
    keep_ns: float = 12.0  # one cell of a synopsis written
    read_ns: float = 4.5  # one cell read again by a tick
    combine_ns: float = 20.0  # one cell that is read, laid out and put into a running sum
    route_ns: float = 13.0  # one cell handed to one predicate that holds
    home_ns: float = 11_000.0  # one predicate in a tick that hands cells out, however few
    narrow_ns: float = 6.5  # one cell picked by its signature
    answer_ns: float = 5.0  # one window × group cell answered and finished
    piece_ns: float = 1_100_000.0  # one file of cells written; every tick has one
    open_ns: float = 220_000.0  # one such file opened again, by a tick that answers
    run_ns: float = 3_300_000.0  # one joint run of soft queries, whatever it answers
    lanes: Mapping[CostFamily, CellCosts] = field(default_factory=lambda: dict(LANE_COSTS))


ARRAY_COSTS = MachineCosts()
CATALYST_COSTS = replace(ARRAY_COSTS, scan_ns=550.0, set_ns=200.0, partial_ns=1500.0)


@dataclass(frozen=True)
class Machines:
    """The figures of both routes."""

    arrays: MachineCosts = field(default=ARRAY_COSTS)
    catalyst: MachineCosts = field(default=CATALYST_COSTS)
