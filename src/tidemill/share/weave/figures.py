"""Costs of the engine's steps, in nanoseconds of one core.

The defaults were measured on two cores with `tidemill calibrate` and rounded. Who makes the
partials decides what a row costs; what follows is the same code whoever made them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

# How often a tick comes back to a cell before it expires.
VISITS = 3


@dataclass(frozen=True)
class MachineCosts:
    """Of one route from rows to partials; a calibration replaces the defaults, the arrays'."""

    scan_ns: float = 120.0  # read one row, sign it and put it into its cell
    set_ns: float = 30.0  # put the row into another cell, for another sub-aggregation
    partial_ns: float = 45.0  # one partial row more for the same rows
    fold_ns: float = 35.0  # one partial row rolled up and cut for one synopsis
    combine_ns: float = 110.0  # one cell that is read, laid out and put into a running sum
    keep_ns: float = 95.0  # one cell of a synopsis written, and read again by later ticks
    route_ns: float = 60.0  # one cell handed to one predicate that holds
    narrow_ns: float = 40.0  # one cell picked by its signature
    answer_ns: float = 40.0  # one window × group cell answered and finished
    run_ns: float = 5_000_000.0  # one joint run of soft queries, whatever it answers
    probe_ns: float = 4.0  # one merge more for an answer that cannot be had by subtraction


ARRAY_COSTS = MachineCosts()
CATALYST_COSTS = replace(ARRAY_COSTS, scan_ns=550.0, set_ns=200.0, partial_ns=1500.0)


@dataclass(frozen=True)
class Machines:
    """The figures of both routes."""

    arrays: MachineCosts = field(default=ARRAY_COSTS)
    catalyst: MachineCosts = field(default=CATALYST_COSTS)
