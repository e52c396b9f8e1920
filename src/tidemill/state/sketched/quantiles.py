"""Percentiles of windows, from the values that the KLL sketches of their cells have kept.

A value that stands for 2^n is counted as often. The errors of the ranks in the sketches, each a
share of what that sketch has seen, add up to no more than the same share of what all have seen,
which is the bound for one sketch of all. Nothing is thinned once more, so no lots are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tidemill.aggregates.bags import Bags, from_numbers
from tidemill.aggregates.estimates import Estimates
from tidemill.aggregates.sketches import read_quantiles
from tidemill.aggregates.sketches.quantiles import quantile_error
from tidemill.arrays import BoolArray, FloatArray, IntArray
from tidemill.plan.query import AggregateCall
from tidemill.state.layouts.bag_runs import in_order, totals_before, totals_within
from tidemill.state.loops.quantiles import at_shares


@dataclass(frozen=True)
class QuantileCells:
    """The values of each cell, and whether there were more."""

    size: int
    bags: Bags
    is_thinned: BoolArray

    @staticmethod
    def read(states: Sequence[bytes | None], size: int) -> QuantileCells:
        found = read_quantiles.read_quantiles(states)
        bags = from_numbers(found.values, found.begin, found.end, found.weights[None])
        return QuantileCells(size, bags, found.is_thinned)

    def take(self, rows: IntArray) -> QuantileCells:
        return QuantileCells(self.size, self.bags.take(rows), self.is_thinned[rows])

    def estimates(self, call: AggregateCall, first: IntArray, last: IntArray) -> Estimates:
        """The least value with so large a share of all at or below it, and its bounds."""
        share, error = float(str(call.parameters[0])), quantile_error(self.size)
        doubt = totals_within(self._thinned_before, first, last) > 0
        if share in (0.0, 1.0):
            doubt[:] = False
        codes = np.full((3, len(first)), -1, np.int32)
        at_shares(
            in_order(np.flatnonzero(first < last), first, len(self.bags)),
            first,
            last,
            self._entries_before,
            self.bags.begin,
            self.bags.end,
            self.bags.codes,
            self.bags.weights[0],
            np.array([share, share - error, share + error]),
            doubt,
            codes,
        )
        value, low, high = self._numbers[codes]
        return Estimates(value, low, high, codes[0] >= 0)

    @cached_property
    def _entries_before(self) -> IntArray:
        return totals_before(self.bags.sizes)

    @cached_property
    def _thinned_before(self) -> IntArray:
        return totals_before(self.is_thinned.astype(np.int64))

    @cached_property
    def _numbers(self) -> FloatArray:
        """By code; the last, which stands for no value, is 0."""
        return np.append(self.bags.dictionary.to_numpy(zero_copy_only=False), 0.0)
