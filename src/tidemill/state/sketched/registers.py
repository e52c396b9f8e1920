"""Distinct counts of windows, from the HyperLogLog sketches of their cells.

As long as every cell is still a list of coupons, the different coupons are counted: there are so
many that the count is nearly exact, whatever the size of the sketch. Where a cell of the window
has registers, the greatest value of each register is found, and what these come to is estimated
as Ertl does (New cardinality estimation algorithms for HyperLogLog sketches, 2017, his improved
raw estimator): no table of corrections is needed, whatever the count. Its relative standard
error is at most 1.03896 over the root of the number of registers; bounds are two of it away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tidemill.aggregates.bags import Bags, from_numbers
from tidemill.aggregates.estimates import DEVIATIONS, Estimates, whole_counts
from tidemill.aggregates.sketches import read_coupons
from tidemill.aggregates.sketches.distinct import HLL_FACTOR
from tidemill.arrays import FloatArray, IntArray
from tidemill.plan.query import AggregateCall
from tidemill.state.layouts.bag_runs import in_order, totals_before, totals_within
from tidemill.state.loops.bags import count_distinct
from tidemill.state.loops.registers import estimate_registers

_PLACES = 2.0**read_coupons.VALUE_SHIFT
# A coupon has the value r once in 2^r; beyond these it hardly ever is.
_SHARES = 2.0 ** -np.arange(1, 41)
# Two of n coupons are the same about n² / (6 places) times.
_COUPON_ERROR = 1 / math.sqrt(6 * _PLACES)


@dataclass(frozen=True)
class RegisterCells:
    """The coupons of each cell, or where its registers are; `data` are the bytes of all."""

    log_size: int
    bags: Bags
    data: NDArray[np.uint8]
    registers: IntArray

    @staticmethod
    def read(states: Sequence[bytes | None], log_size: int) -> RegisterCells:
        found = read_coupons.read_coupons(states, log_size)
        no_weights = np.zeros((0, len(found.coupons)), np.int64)
        bags = from_numbers(found.coupons, found.begin, found.end, no_weights)
        return RegisterCells(log_size, bags, found.data, found.registers)

    def take(self, rows: IntArray) -> RegisterCells:
        return RegisterCells(self.log_size, self.bags.take(rows), self.data, self.registers[rows])

    def estimates(self, call: AggregateCall, first: IntArray, last: IntArray) -> Estimates:
        is_full = totals_within(self._full_before, first, last) > 0
        few = in_order(np.flatnonzero((first < last) & ~is_full), first, len(self.bags))
        full = in_order(np.flatnonzero(is_full), first, len(self.bags))
        estimate = from_coupons(self._coupons(few, first, last))
        error = np.where(is_full, HLL_FACTOR / math.sqrt(2**self.log_size), _COUPON_ERROR)
        used = np.zeros(len(first), np.int64)
        if len(full):
            bags = self.bags
            cells = bags.begin, bags.end, bags.codes, self._numbers, self.data, self.registers
            estimate_registers(full, first, last, *cells, self.log_size, estimate, used)
        low = np.maximum(used, estimate / (1 + DEVIATIONS * error))
        return whole_counts(estimate, low, estimate / (1 - DEVIATIONS * error))

    def _coupons(self, order: IntArray, first: IntArray, last: IntArray) -> IntArray:
        bags, size = self.bags, len(self._numbers)
        limit = np.full(len(first), size)
        coupons: IntArray = count_distinct(
            order, first, last, limit, bags.begin, bags.end, bags.codes, size
        )
        return coupons

    @cached_property
    def _numbers(self) -> IntArray:
        """The coupon of each code."""
        return np.asarray(self.bags.dictionary.to_numpy(zero_copy_only=False))

    @cached_property
    def _full_before(self) -> IntArray:
        return totals_before((self.registers >= 0).astype(np.int64))


def from_coupons(distinct: IntArray) -> FloatArray:
    """The number of values that have so many different coupons, by Newton's method.

    >>> from_coupons(np.array([0, 100, 10**6])).round(1).tolist()
    [0.0, 100.0, 1002490.6]
    """
    coupons, place = np.unique(distinct, return_inverse=True)
    values = coupons.astype(np.float64)
    for _ in range(4):
        # The share of the places that the coupons of each value are expected to have.
        met = -np.expm1(-values[:, None] * _SHARES / _PLACES)
        slope = ((1 - met) * _SHARES).sum(axis=1)
        values = values + (coupons - _PLACES * met.sum(axis=1)) / slope
    return values[place.ravel()]
