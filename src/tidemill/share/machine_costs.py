"""What the steps of a tick cost on one core: the constants behind the engine's cost model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineCosts:
    """Nanoseconds of one core; a calibration replaces the defaults."""

    scan_ns: float = 250.0  # read one row, judge it and hash it into its cell
    set_ns: float = 200.0  # hash the row once more, for another grouping set of the same pass
    partial_ns: float = 700.0  # one partial row out of Catalyst into Python
    fold_ns: float = 150.0  # sort one partial row into a synopsis
    combine_ns: float = 10.0  # one slice × group cell into a running sum or a coarser slice
    narrow_ns: float = 25.0  # one cell picked by its signature and added to its group
    answer_ns: float = 15.0  # one window × group cell answered and finished
    probe_ns: float = 10.0  # one merge more for an answer that cannot be had by subtraction
