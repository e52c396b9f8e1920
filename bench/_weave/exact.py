"""Costs of the papers' model beyond its formulas: counted slice by slice, and a lower bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tidemill.arrays import Array
from tidemill.share.weave.model import (
    Cost,
    Groups,
    Processing,
    Workload,
    alone,
)
from tidemill.share.weave.operations import Operations
from tidemill.windows import WindowSpec


def group_rates(load: Workload, groups: Groups) -> tuple[Fraction, ...]:
    """Edges per second of each group."""
    return tuple(load.timeline.rate(load.edges(group)) for group in groups)


def exact_cost(
    load: Workload, groups: Groups, processing: Processing, rows_per_second: Fraction
) -> Cost:
    """By counting the slices each window really reads.

    The formulas charge every window of a query `ω` for each edge; a window whose slide does not
    divide its range holds some edges once less.
    """
    model = Operations(rows_per_second)
    once = model.fixed(processing, load.edge_rate, load.windows)
    each = len(groups) * model.charge(processing, load.edge_rate)
    return (
        once
        + each
        + Fraction(sum(_reads(load, group) for group in groups)) / (load.timeline.seconds)
    )


def lower_bound(load: Workload, rows_per_second: Fraction) -> Cost:
    """No plan is cheaper: the rows are read once, and every window at least by its own edges."""
    overlaps = (window.overlap for window in load.windows)
    finals = (
        w * rate
        for w, rate in zip(overlaps, group_rates(load, alone(len(load.windows))), strict=True)
    )
    return rows_per_second + sum(finals, Fraction(0))


def _reads(load: Workload, group: tuple[int, ...]) -> int:
    mask = load.timeline.mask(load.windows[member] for member in group)
    times = load.timeline.times(mask)
    return sum(_reads_of(load.windows[member], times) for member in group)


def _reads_of(window: WindowSpec, times: Array) -> int:
    """Over all edges, how many windows have the edge in `(start, end]`."""
    whole, rest_us = divmod(window.range_us, window.slide_us)
    if rest_us == 0:
        return whole * times.size
    phase_us = (times - window.start_us) % window.slide_us
    return whole * times.size + int(np.count_nonzero((phase_us > 0) & (phase_us <= rest_us)))
