"""Counts of a value in windows, from the counters it has in the sketches of their cells.

Each counter of a window is the sum of those of its cells, and the least of them is the answer,
as it would be if the sketches were added up. Cells that are counted exactly leave no doubt, so
that the bound goes by the rows of the others alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tidemill.aggregates.estimates import Estimates
from tidemill.aggregates.sketches import counts, read_counts
from tidemill.aggregates.sketches.flat import Flat, flatten_bytes
from tidemill.aggregates.sketches.keys import key_of
from tidemill.arrays import IntArray
from tidemill.plan.query import AggregateCall
from tidemill.state.layouts.bag_runs import totals_before, totals_within
from tidemill.types import Type


@dataclass(frozen=True)
class CountMinCells:
    """The bytes of some sketches, and which of them each cell has."""

    width: int
    of: Type
    states: Flat
    rows: IntArray
    _totals: dict[int, IntArray] = field(default_factory=dict)

    @staticmethod
    def read(states: Sequence[bytes | None], width: int, of: Type) -> CountMinCells:
        return CountMinCells(width, of, flatten_bytes(states), np.arange(len(states)))

    def take(self, rows: IntArray) -> CountMinCells:
        return CountMinCells(self.width, self.of, self.states, self.rows[rows])

    def estimates(self, call: AggregateCall, first: IntArray, last: IntArray) -> Estimates:
        """The value, and its bounds; the upper one, which is the value, is certain."""
        key = counts.whole_key(key_of(call.parameters[0], self.of))
        counters = totals_within(self._before(key), first, last)
        high, weight = counters[:, :-1].min(axis=1), counters[:, -1]
        low = high - np.ceil(math.e / self.width * weight).astype(np.int64)
        is_known = np.ones(len(high), np.bool_)
        return Estimates(high, np.maximum(low, 0), high, is_known)

    def _before(self, key: int) -> IntArray:
        """Kept for each value that is asked for."""
        if key not in self._totals:
            of_states = read_counts.counters(self.states, self.width, key)
            self._totals[key] = totals_before(of_states[self.rows])
        return self._totals[key]
