"""Distinct counts of windows, from the hashes that the theta sketches of their cells have kept.

As long as no cell has dropped a hash, the different hashes are counted. Else those are that lie
below the least limit of the cells, which no cell has dropped any of, and the limit tells how
large a share of all hashes that is. The bounds are the library's, at two standard deviations, for
that many hashes: those of a binomial distribution, with half a hash for continuity. No union
drops hashes to be of a certain size, so there are at least as many as in any one of the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidemill.aggregates.bags import Bags, from_numbers
from tidemill.aggregates.estimates import DEVIATIONS, Estimates, whole_counts
from tidemill.aggregates.sketches import read_hashes
from tidemill.arrays import IntArray
from tidemill.plan.query import AggregateCall
from tidemill.state.layouts.bag_runs import in_order, totals_before, totals_within
from tidemill.state.loops.bags import count_distinct

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class ThetaCells:
    """The hashes of each cell, and below what all hashes of it are there."""

    bags: Bags
    limit: IntArray

    @staticmethod
    def read(states: Sequence[bytes | None]) -> ThetaCells:
        found = read_hashes.read_hashes(states)
        no_weights = np.zeros((0, len(found.hashes)), np.int64)
        bags = from_numbers(found.hashes, found.begin, found.end, no_weights)
        return ThetaCells(bags, found.limit)

    def take(self, rows: IntArray) -> ThetaCells:
        return ThetaCells(self.bags.take(rows), self.limit[rows])

    def estimates(self, call: AggregateCall, first: IntArray, last: IntArray) -> Estimates:
        limit = np.full(len(first), read_hashes.ALL)
        doubt = np.flatnonzero(totals_within(self._limited_before, first, last) > 0)
        limit[doubt] = self._least(first[doubt], last[doubt])
        hashes = self._distinct(first, last, limit)
        return _estimated(hashes, limit)

    def _least(self, first: IntArray, last: IntArray) -> IntArray:
        """The least limit of runs that are not empty."""
        bounds = np.stack([first, last], axis=1).ravel()
        found: IntArray = np.minimum.reduceat(np.append(self.limit, read_hashes.ALL), bounds)[::2]
        return found

    def _distinct(self, first: IntArray, last: IntArray, limit: IntArray) -> IntArray:
        """The number of hashes of the runs below their limits.

        Those of one limit are answered together, and of long windows many have the same least.
        """
        codes = np.searchsorted(self._hashes, limit)
        order = in_order(np.flatnonzero(first < last), first, len(self.bags))
        if len(self._limited):
            order = order[np.argsort(codes[order], kind="stable")]
        bags = self.bags
        hashes: IntArray = count_distinct(
            order, first, last, codes, bags.begin, bags.end, bags.codes, len(self._hashes)
        )
        return hashes

    @cached_property
    def _hashes(self) -> IntArray:
        return np.asarray(self.bags.dictionary.to_numpy(zero_copy_only=False))

    @cached_property
    def _limited(self) -> IntArray:
        return np.flatnonzero(self.limit < read_hashes.ALL)

    @cached_property
    def _limited_before(self) -> IntArray:
        return totals_before((self.limit < read_hashes.ALL).astype(np.int64))


def _estimated(hashes: IntArray, limit: IntArray) -> Estimates:
    share = np.where(limit < read_hashes.ALL, limit / 2.0**63, 1.0)
    estimate = hashes / share
    low = np.maximum(hashes, _bound(hashes - 0.5, share, -1) - 0.5)
    high = _bound(hashes + 0.5, share, 1) + 0.5
    is_exact = share == 1.0
    return whole_counts(estimate, np.where(is_exact, hashes, low), np.where(is_exact, hashes, high))


def _bound(hashes: Floats, share: Floats, side: int) -> Floats:
    """So many hashes are as far from what is expected as the deviations allow."""
    middle = np.maximum(hashes, 0) / share
    spread = DEVIATIONS * np.sqrt((1 - share) / share)
    bound: Floats = middle + spread**2 / 2 + side * spread / 2 * np.sqrt(spread**2 + 4 * middle)
    return bound
