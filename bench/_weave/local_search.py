"""Local Search: move one window at a time, always the best move, until none pays."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from _weave.rivals import tidy
from tidemill.arrays import Array, IntArray
from tidemill.share.weave.model import CostModel, Groups, Processing, Workload

# Sums of floats may make a move that changes nothing look as if it paid.
_ROUNDING = 1e-9


def local_search(
    load: Workload, processing: Processing, model: CostModel, start: Groups, most_steps: int
) -> tuple[Groups, int]:
    """The plan where no move pays, or where the steps ran out; and the steps taken."""
    search = _Search(load, processing, model, start)
    for step in range(most_steps):
        if not search.move():
            return search.plan(), step
    return search.plan(), most_steps


class _Search:
    """For each window what it would add to each group, and what it alone holds in its own."""

    def __init__(
        self, load: Workload, processing: Processing, model: CostModel, start: Groups
    ) -> None:
        self._load, self._processing, self._model = load, processing, model
        count = len(load.windows)
        self._places = [load.timeline.places(window) for window in load.windows]
        self._flat = np.concatenate(self._places)
        self._own = np.array([places.size for places in self._places], np.int64)
        self._starts = np.cumsum(self._own) - self._own
        self._weights = model.weights(load.windows)
        # One group more than windows could fill, so that an empty one is always at hand.
        self._groups: list[list[int]] = [list(group) for group in start]
        self._groups += [[] for _ in range(count + 1 - len(start))]
        self._home = np.zeros(count, np.int64)
        self._adds = np.tile(self._own[:, None], (1, count + 1))
        self._alone = np.zeros(count, np.int64)
        self._edges = np.zeros(count + 1, np.int64)
        self._heavy = np.zeros(count + 1, self._weights.dtype)
        for group in range(len(start)):
            self._count(group)

    def plan(self) -> Groups:
        return tidy(self._groups)

    def move(self) -> bool:
        """Make the best move if it pays."""
        changes = self._changes()
        window, target = divmod(int(changes.argmin()), changes.shape[1])
        source = int(self._home[window])
        if not changes[window, target] < -_ROUNDING * max(1.0, self._charge()):
            return False
        self._groups[source].remove(window)
        self._groups[target].append(window)
        self._count(source)
        self._count(target)
        return True

    def _changes(self) -> Array:
        """The change of cost by each move; floats, since a search may take equals in any order."""
        filled = self._edges > 0
        empty = int(np.flatnonzero(~filled)[0])
        offered = filled.copy()
        offered[empty] = True
        rows = np.arange(self._own.size)
        joined = self._work(self._edges + self._adds, self._heavy + self._weights[:, None])
        joined -= self._work(self._edges, self._heavy) + self._charge() * filled
        home = self._home
        left = self._work(self._edges[home] - self._alone, self._heavy[home] - self._weights)
        left -= self._work(self._edges, self._heavy)[home]
        changes: Array = joined + self._charge() + left[:, None]
        changes -= self._charge() * (self._edges[home] == self._alone)[:, None]
        changes[:, ~offered] = np.inf
        changes[rows, home] = np.inf
        return changes

    def _count(self, group: int) -> None:
        """Count a group anew after its members changed."""
        members = self._groups[group]
        holders = np.zeros(self._load.timeline.size, np.int32)
        for member in members:
            holders[self._places[member]] += 1
        self._home[members] = group
        self._adds[:, group] = self._counted(holders == 0)
        single = holders == 1
        self._alone[members] = [np.count_nonzero(single.take(self._places[m])) for m in members]
        self._edges[group] = np.count_nonzero(holders)
        self._heavy[group] = self._weights[members].sum()

    def _counted(self, wanted: Array) -> IntArray:
        """Of each window, the places that are wanted."""
        hits = wanted.take(self._flat)
        # An empty list would be given the first hit of the next.
        starts = np.minimum(self._starts, hits.size - 1)
        counts: IntArray = np.add.reduceat(hits, starts, dtype=np.int64)
        return np.where(self._own > 0, counts, 0)

    def _work(self, edges: Array, weights: Array) -> Array:
        seconds = self._load.timeline.seconds
        return self._model.finals(self._processing, edges, weights, seconds).astype(np.float64)

    def _charge(self) -> float:
        seconds: Fraction = self._load.timeline.seconds
        return float(self._model.charge(self._processing, self._load.edge_rate) * seconds)
