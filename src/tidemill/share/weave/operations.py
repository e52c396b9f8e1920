"""The papers' model: aggregate operations per second, as exact rationals.

    NoShare   n·λ + Σ E_i·ω_i          trees   m·λ + Σ E_t·Ω_t
    Shared    λ + E·Ω                  TriOps  λ + m·E + Σ E_g·Ω_g

E are edges per second, ω how many windows an instant belongs to, Ω their sum in a group.

>>> from tidemill.share.weave.model import Workload, cost_of_plan
>>> load = Workload.of([WindowSpec(r * 10**6, s * 10**6) for r, s in ((16, 4), (10, 5), (8, 4))])
>>> model = Operations(Fraction("1.2"))
>>> float(cost_of_plan(load, ((0, 2), (1,)), Processing.TREES, model))
4.3
>>> float(cost_of_plan(load, ((0, 1, 2),), Processing.SHARED, model))
4.4
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tidemill.arrays import Array
from tidemill.share.weave.model import (
    Cost,
    Processing,
)
from tidemill.share.weave.timeline import MOST_PLACES
from tidemill.windows import WindowSpec

_LARGEST = 2**62


@dataclass(frozen=True)
class Operations:
    """The model for one input rate."""

    rows_per_second: Fraction

    def weights(self, windows: Sequence[WindowSpec]) -> Array:
        overlaps = [window.overlap for window in windows]
        # Edges times overlaps must fit; only windows of ages at microseconds do not.
        fits = sum(overlaps) * MOST_PLACES < _LARGEST
        return np.array(overlaps, np.int64 if fits else np.float64)

    def finals(
        self, processing: Processing, edges: Array, weights: Array, seconds: Fraction
    ) -> Array:
        product: Array = edges * weights
        return product

    def charge(self, processing: Processing, edge_rate: Fraction) -> Cost:
        return edge_rate if processing is Processing.TRIOPS else self.rows_per_second

    def fixed(
        self, processing: Processing, edge_rate: Fraction, windows: Sequence[WindowSpec]
    ) -> Cost:
        return self.rows_per_second if processing is Processing.TRIOPS else Fraction(0)
