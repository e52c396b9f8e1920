"""The cost of a plan: one interface for the papers' count of operations and machine time.

A plan cuts the windows into groups and says how the groups are served. Its cost has one shape
in every model: something once, something per group, and the finals of each group, which depend
on the group's edges and on a weight that adds up over its windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from tidemill.arrays import Array
from tidemill.share.weave.timeline import Timeline
from tidemill.windows import WindowSpec

# Operations a second as exact rationals, or seconds of machine a second as floats.
Cost = Fraction | float
Groups = tuple[tuple[int, ...], ...]


class Processing(Enum):
    """The way in which the groups of a plan get their slices."""

    SHARED = "shared"  # one group: its slices are those of the one sub-aggregation
    TREES = "trees"  # each group makes its own pass over the rows
    TRIOPS = "triops"  # one sub-aggregation over all edges; intercede cuts slices per group


class CostModel(Protocol):
    """Charges per second of stream; finals over the whole of a timeline, so that counts of
    operations stay whole numbers and ties are ties."""

    def weights(self, windows: Sequence[WindowSpec]) -> Array:
        """The share of each window in the weight of its group."""

    def finals(
        self, processing: Processing, edges: Array, weights: Array, seconds: Fraction
    ) -> Array:
        """Work of each group beyond its charge, given its edges in that many seconds."""

    def charge(self, processing: Processing, edge_rate: Fraction) -> Cost:
        """The cost of one more group; the rate is of all windows together."""

    def fixed(
        self, processing: Processing, edge_rate: Fraction, windows: Sequence[WindowSpec]
    ) -> Cost:
        """The cost that is paid once, whatever the groups."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Windows of the queries, one each, and the line on which their edges are counted."""

    windows: tuple[WindowSpec, ...]
    timeline: Timeline

    @classmethod
    def of(cls, windows: Iterable[WindowSpec]) -> Workload:
        specs = tuple(windows)
        return cls(specs, Timeline.of(specs))

    @cached_property
    def edge_rate(self) -> Fraction:
        """Edges per second of all windows together."""
        return self.timeline.rate(self.edges(range(len(self.windows))))

    def edges(self, members: Iterable[int]) -> int:
        """Edges on the line that some member has."""
        specs = (self.windows[member] for member in members)
        return int(np.count_nonzero(self.timeline.mask(specs)))


def cost_of_plan(load: Workload, groups: Groups, processing: Processing, model: CostModel) -> Cost:
    """The cost of any plan, counted afresh."""
    weights = model.weights(load.windows)
    edges = np.array([load.edges(group) for group in groups], np.int64)
    heavy = np.array([weights[list(group)].sum() for group in groups], weights.dtype)
    seconds = load.timeline.seconds
    work = total(model.finals(processing, edges, heavy, seconds))
    return assembled(load, processing, model, len(groups), work)


def assembled(
    load: Workload, processing: Processing, model: CostModel, groups: int, finals: Cost
) -> Cost:
    """The cost of a plan of that many groups whose finals over the line are known."""
    once = model.fixed(processing, load.edge_rate, load.windows)
    per_group = model.charge(processing, load.edge_rate)
    return once + groups * per_group + finals / load.timeline.seconds


def everything(count: int) -> Groups:
    """All windows in one group."""
    return (tuple(range(count)),) if count else ()


def alone(count: int) -> Groups:
    """Every window by itself."""
    return tuple((number,) for number in range(count))


def total(numbers: Array) -> Cost:
    """A sum that keeps whole numbers exact."""
    return Fraction(int(numbers.sum())) if numbers.dtype.kind == "i" else float(numbers.sum())
