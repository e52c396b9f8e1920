"""The greedy rounds of Weave Share: the two groups to merge next, until one group is left.

Merging saves the charge of one group and loses some finals. The charge is the same for every
pair, so the best pair is the one that loses least, whatever the charge. **One run therefore gives
the plans of all input rates**, and in the papers' model those of TriWeave too. The charge only
says where to stop.

>>> from tidemill.share.weave.operations import Operations
>>> from tidemill.windows import WindowSpec
>>> windows = [WindowSpec(r * 10**6, s * 10**6) for r, s in ((16, 4), (10, 5), (8, 4))]
>>> linkage = link(Workload.of(windows), Processing.TREES, Operations(Fraction("1.2")))
>>> [(merge.into, merge.emptied, merge.loss) for merge in linkage.merges]
[(0, 2, 0), (0, 1, 26)]
>>> linkage.stop_at(Fraction("1.2")), linkage.groups(1)
(1, ((0, 2), (1,)))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tidemill.arrays import Array
from tidemill.share.weave.common_edges import CommonEdges
from tidemill.share.weave.loss_table import LossTable
from tidemill.share.weave.model import (
    Cost,
    CostModel,
    Groups,
    Processing,
    Workload,
    alone,
    total,
)
from tidemill.share.weave.timeline import Places
from tidemill.windows import edge_classes


@dataclass(frozen=True)
class GroupMerge:
    """Two groups become one, which keeps the lower of their first members as its number."""

    into: int
    emptied: int
    loss: float


@dataclass(frozen=True)
class Linkage:
    """All merges in order, and the finals over the line before the first."""

    start: Groups
    merges: tuple[GroupMerge, ...]
    finals: Cost
    seconds: Fraction

    def stop_at(self, charge: Cost) -> int:
        """The number of merges that the greedy makes before none pays."""
        bound = charge * self.seconds
        vain = (number for number, merge in enumerate(self.merges) if merge.loss >= bound)
        return next(vain, len(self.merges))

    def finals_after(self) -> Iterator[Cost]:
        """Before the first merge, after it, after the second, and so on."""
        finals = self.finals
        yield finals
        for merge in self.merges:
            finals += merge.loss
            yield finals

    def groups(self, merges: int) -> Groups:
        """The plan after so many merges; groups and members ascend."""
        members = {group[0]: list(group) for group in self.start}
        for merge in self.merges[:merges]:
            members[merge.into] += members.pop(merge.emptied)
        return tuple(tuple(sorted(group)) for _, group in sorted(members.items()))


def link(
    load: Workload, processing: Processing, model: CostModel, start: Groups | None = None
) -> Linkage:
    """The greedy rounds to their end, from single windows or from the groups given.

    Single windows of equal edges are merged before anything is counted. In the papers' model no
    pair loses less; in any model one of two such windows could move to the other's group, the
    one with fewer edges, and nothing would cost more.
    """
    first = start if start is not None else alone(len(load.windows))
    equal = _of_equal_edges(load) if start is None else first
    forest = _Forest(load, processing, model, equal)
    free = tuple(forest.equal_merges(equal)) if start is None else ()
    before = forest.finals_sum() - sum(merge.loss for merge in free)
    return Linkage(first, (*free, *forest.merges()), before, load.timeline.seconds)


def _of_equal_edges(load: Workload) -> Groups:
    by_edges: dict[object, list[int]] = {}
    for number, window in enumerate(load.windows):
        by_edges.setdefault(edge_classes([window]), []).append(number)
    return tuple(tuple(members) for members in by_edges.values())


class _Forest:
    """The groups while they are merged, by slot; their numbers ascend with the slots."""

    def __init__(
        self, load: Workload, processing: Processing, model: CostModel, groups: Groups
    ) -> None:
        self._load, self._processing, self._model = load, processing, model
        self._alone = model.weights(load.windows)
        self._numbers = [group[0] for group in groups]
        self._weights = np.array([self._alone[list(g)].sum() for g in groups], self._alone.dtype)
        self._common = CommonEdges(load.timeline.size, [_places(load, group) for group in groups])
        self._finals = self._work(self._common.edges, self._weights)

    def finals_sum(self) -> Cost:
        return total(self._finals)

    def merges(self) -> Iterator[GroupMerge]:
        if len(self._numbers) < 2:
            return
        slots = np.arange(len(self._numbers))[:, None]
        table = LossTable(self._losses(slots, self._common.table))
        for _ in range(len(self._numbers) - 1):
            into, emptied = table.best()
            yield GroupMerge(self._numbers[into], self._numbers[emptied], table.loss(into, emptied))
            common = self._merge(into, emptied)
            table.merge(into, emptied, self._losses(into, common))

    def equal_merges(self, groups: Groups) -> Iterator[GroupMerge]:
        """Within each group all windows have the edges of the whole."""
        for slot, group in enumerate(groups):
            weight = self._alone[group[0]]
            for member in group[1:]:
                parts = np.array([weight, self._alone[member], weight + self._alone[member]])
                edges = np.full(3, self._common.edges[slot])
                before, member_finals, merged = self._work(edges, parts)
                weight = parts[2]
                yield GroupMerge(group[0], member, (merged - before - member_finals).item())

    def _merge(self, into: int, emptied: int) -> Array:
        common = self._common.merge(into, emptied)
        self._weights[into] += self._weights[emptied]
        self._weights[emptied] = 0
        slots = [into, emptied]
        self._finals[slots] = self._work(self._common.edges[slots], self._weights[slots])
        return common

    def _losses(self, slots: Array | int, common: Array) -> Array:
        """Of merging the slot, or each of the slots, with every other."""
        edges, weights = self._common.edges, self._weights
        together = self._work(edges[slots] + edges - common, weights[slots] + weights)
        losses: Array = together - self._finals[slots] - self._finals
        return losses

    def _work(self, edges: Array, weights: Array) -> Array:
        return self._model.finals(self._processing, edges, weights, self._load.timeline.seconds)


def _places(load: Workload, group: tuple[int, ...]) -> Places:
    if len({edge_classes([load.windows[member]]) for member in group}) == 1:
        return load.timeline.places(load.windows[group[0]])
    mask = load.timeline.mask(load.windows[member] for member in group)
    return np.flatnonzero(mask).astype(np.int32)
