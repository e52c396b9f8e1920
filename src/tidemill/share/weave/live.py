"""Weave rounds over groups that stand: one group has changed and looks for others to join.

The other groups were compared with one another when they last changed, so only the row of the
changed group in the table of losses is computed.

>>> from fractions import Fraction
>>> from tidemill.share.weave.operations import Operations
>>> a, b, c = (WindowSpec(r * 10**6, s * 10**6) for r, s in ((16, 4), (10, 5), (8, 4)))
>>> rounds = WeaveRounds([[a], [b], [c]], Processing.TREES, Operations(Fraction("1.2")))
>>> float(rounds.cost), rounds.partner(2, [0, 1])
(5.5, 0)
>>> rounds.merge(2, 0)
>>> float(rounds.cost), rounds.partner(2, [1])
(4.3, None)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tidemill.arrays import Array, IntArray
from tidemill.share.weave.common_edges import Words, packed
from tidemill.share.weave.model import Cost, CostModel, Processing, Workload, assembled, total
from tidemill.windows import WindowSpec


class WeaveRounds:
    """Groups of windows by their place."""

    def __init__(
        self,
        groups: Sequence[Sequence[WindowSpec]],
        processing: Processing,
        model: CostModel,
    ) -> None:
        self._load = Workload.of(window for windows in groups for window in windows)
        self._processing, self._model = processing, model
        self._left = list(range(len(groups)))
        self._bitmaps = [self._bitmap(windows) for windows in groups]
        self._edges = np.array([_ones(bitmap) for bitmap in self._bitmaps], np.int64)
        sums = [model.weights(windows).sum() for windows in groups]
        self._weights = np.array(sums, sums[0].dtype if sums else np.int64)

    @property
    def cost(self) -> Cost:
        """Of the groups as they stand, by the same count as any other plan of these windows."""
        return self._cost(len(self._left), Fraction(0))

    def partner(self, changed: int, others: Sequence[int]) -> int | None:
        """The one of the others that it pays most to merge the changed group with, if any."""
        if not others:
            return None
        losses = self._losses(changed, list(others))
        best = int(losses.argmin())
        merged = self._cost(len(self._left) - 1, losses[best].item())
        return others[best] if merged < self.cost else None

    def merge(self, into: int, emptied: int) -> None:
        self._bitmaps[into] = self._bitmaps[into] | self._bitmaps[emptied]
        self._edges[into] = _ones(self._bitmaps[into])
        self._weights[into] += self._weights[emptied]
        self._left.remove(emptied)

    def _losses(self, changed: int, others: list[int]) -> Array:
        edges, weights = self._edges, self._weights
        together = self._together(changed, others), weights[others] + weights[changed]
        losses: Array = (
            self._work(*together)
            - self._work(edges[others], weights[others])
            - self._work(edges[[changed]], weights[[changed]])
        )
        return losses

    def _together(self, changed: int, others: Sequence[int]) -> IntArray:
        bitmap = self._bitmaps[changed]
        return np.array([_ones(bitmap | self._bitmaps[other]) for other in others], np.int64)

    def _cost(self, groups: int, lost: Cost) -> Cost:
        """One group needs no intercede: it would copy every slice as it is."""
        served = Processing.SHARED if groups == 1 else self._processing
        finals = total(self._work(self._edges[self._left], self._weights[self._left])) + lost
        return assembled(self._load, served, self._model, groups, finals)

    def _work(self, edges: Array, weights: Array) -> Array:
        seconds = self._load.timeline.seconds
        return self._model.finals(self._processing, edges, weights, seconds)

    def _bitmap(self, windows: Sequence[WindowSpec]) -> Words:
        mask = self._load.timeline.mask(dict.fromkeys(windows))
        return packed(np.pad(mask, (0, -mask.size % 64)))


def _ones(words: Words) -> int:
    return int(np.bitwise_count(words).sum(dtype=np.int64))
