"""The engine's model: seconds of machine per second of stream.

Kernels answer a window from running sums in one step per group, or from a few merges when the
aggregate cannot be subtracted; so finals do not grow with edges times overlap, as the papers'
do, but with the windows that close and the cells that are kept.

>>> from tidemill.share.weave.model import Workload, cost_of_plan
>>> model = Machine(Statistics(rows_per_second=50_000, groups=1_000))
>>> load = Workload.of([WindowSpec(60_000_000, 10_000_000), WindowSpec(9_000_000, 7_000_000)])
>>> apart = cost_of_plan(load, ((0,), (1,)), Processing.TREES, model)
>>> cost_of_plan(load, ((0, 1),), Processing.SHARED, model) < apart
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tidemill.arrays import Array
from tidemill.share.weave.figures import ARRAY_COSTS, VISITS, MachineCosts
from tidemill.share.weave.model import Cost, Processing
from tidemill.windows import WindowSpec

_NS = 1e-9
_US_PER_SECOND = 1_000_000


@dataclass(frozen=True)
class Statistics:
    """Rates of a stream, and the groups and aggregates of the queries."""

    rows_per_second: float
    groups: float
    subtractable: bool = True


@dataclass(frozen=True)
class Machine:
    """The model for one stream on one machine."""

    statistics: Statistics
    costs: MachineCosts = ARRAY_COSTS

    @property
    def shares_all(self) -> bool:
        """Cells of a merged group are at most those of its parts, and answers cost the same."""
        return self.statistics.subtractable

    def weights(self, windows: Sequence[WindowSpec]) -> Array:
        """Window × group cells answered per second: a window has no more groups than rows."""
        rows, groups = self.statistics.rows_per_second, self.statistics.groups
        return np.array(
            [
                min(groups, rows * window.range_us / _US_PER_SECOND)
                * (_US_PER_SECOND / window.slide_us)
                for window in windows
            ],
            np.float64,
        )

    def finals(
        self, processing: Processing, edges: Array, weights: Array, seconds: Fraction
    ) -> Array:
        rates = np.maximum(edges, 1) / float(seconds)
        cut = self._cells(rates) * self._cell_ns(processing)
        probes = 0.0 if self.statistics.subtractable else 2 * self.costs.probe_ns * np.log2(rates)
        answered = weights * probes
        work: Array = (cut + answered) * _NS * float(seconds)
        return work

    def charge(self, processing: Processing, edge_rate: Fraction) -> Cost:
        if processing is Processing.TRIOPS:
            return float(self._cells(float(edge_rate))) * self.costs.fold_ns * _NS
        return self._scan()

    def fixed(
        self, processing: Processing, edge_rate: Fraction, windows: Sequence[WindowSpec]
    ) -> Cost:
        answers = self._answers(windows)
        if processing is not Processing.TRIOPS:
            return answers
        made_ns = float(self._cells(float(edge_rate))) * self.costs.partial_ns
        return answers + self._scan() + made_ns * _NS

    def _scan(self) -> float:
        return self.statistics.rows_per_second * self.costs.scan_ns * _NS

    def _cell_ns(self, processing: Processing) -> float:
        """A tree makes its cells from rows; a group of TriOps gets them from the intercede."""
        kept_ns = self.costs.keep_ns + VISITS * self.costs.combine_ns
        if processing is Processing.TRIOPS:
            return kept_ns
        return kept_ns + self.costs.partial_ns + self.costs.fold_ns

    def _cells(self, edge_rate: Array | float) -> Array:
        """Slice × group cells per second: no more than there are rows to fill them."""
        cells: Array = np.minimum(
            edge_rate * self.statistics.groups, self.statistics.rows_per_second
        )
        return cells

    def _answers(self, windows: Sequence[WindowSpec]) -> float:
        """The part of the answers that no plan changes; `finals` has what grows with edges.

        A window of `e` slices takes `2·log2 e` merges, and `e` is the group's edge rate times
        the window's range (its slide, if that is longer: the gap is cut off whole).
        """
        spans = np.array([max(window.range_us, window.slide_us) for window in windows])
        probes = (
            0.0
            if self.statistics.subtractable
            else (2 * self.costs.probe_ns * np.log2(spans / _US_PER_SECOND))
        )
        each_ns = self.costs.answer_ns + probes
        return float((self.weights(windows) * each_ns).sum()) * _NS
