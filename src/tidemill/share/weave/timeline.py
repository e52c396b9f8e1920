"""A stretch of time on which edges of many windows are counted, all by the same measure.

One composite slide when that is short enough: the counts are then exact. Otherwise a horizon
of at least ten of the longest slides where that fits: an estimate, yet still a measure, so that
rates stay monotone and submodular and one plan may be compared with another.

>>> line = Timeline.of([WindowSpec(8, 5), WindowSpec(5, 4)])
>>> line.exact, line.size, line.places(WindowSpec(8, 5)).tolist()
(True, 20, [0, 3, 5, 8, 10, 13, 15, 18])
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tidemill.arrays import BoolArray, IntArray
from tidemill.windows import (
    EdgeClass,
    WindowSpec,
    edge_classes,
    edges_between,
    pane_us,
    pruned_classes,
)

Places = npt.NDArray[np.int32]

# Places are one bit per tree; these bound a bitmap, and all bitmaps of a workload together.
MOST_PLACES = 2**26
MOST_PLACES_IN_ALL = 2**30
# A horizon has at least this many places, so that a rate is known to about a thousandth, and
# no more than this many when there are a thousand windows to lay on it.
LEAST_PLACES = 2**16
COMMON_PLACES = 2**20
HORIZON_SLIDES = 10
# Where a horizon begins: a round instant in 2023. Near the epoch all windows without START
# share edges, which would flatter sharing.
_HORIZON_START_US = 1_700_000_000_000_000
_LONGEST_SPAN_US = 2**60
_US_PER_SECOND = 1_000_000


@dataclass(frozen=True, eq=False)
class Timeline:
    """Places for edges in `[low_us, low_us + span_us)`: every grid step, or listed instants."""

    low_us: int
    span_us: int
    grid_us: int
    exact: bool
    instants: IntArray | None = None

    @classmethod
    def of(cls, windows: Sequence[WindowSpec]) -> Timeline:
        # Not pruned across windows: one may be asked for without those that contain its edges.
        classes = tuple({edge: None for window in windows for edge in edge_classes([window])})
        most = min(MOST_PLACES, max(COMMON_PLACES, MOST_PLACES_IN_ALL // max(1, len(windows))))
        return _composite(classes, most) or _horizon(classes, min(most, COMMON_PLACES))

    @property
    def size(self) -> int:
        return self.span_us // self.grid_us if self.instants is None else self.instants.size

    @property
    def seconds(self) -> Fraction:
        return Fraction(self.span_us, _US_PER_SECOND)

    def rate(self, edges: int) -> Fraction:
        """Edges per second of that many edges on this line."""
        return Fraction(int(edges)) / self.seconds

    def holds(self, window: WindowSpec) -> bool:
        """Says whether the window's edges have places here, counted as exactly as others."""
        if self.exact and self.span_us % window.slide_us:
            return False
        return all(map(self._has_places, edge_classes([window])))

    def places(self, window: WindowSpec) -> Places:
        """The places of the edges of one window, ascending, each once."""
        return np.sort(np.concatenate([self._places(edge) for edge in edge_classes([window])]))

    def mask(self, windows: Iterable[WindowSpec]) -> BoolArray:
        """Flags the places that hold an edge of any of the windows."""
        mask = np.zeros(self.size, np.bool_)
        for edge in edge_classes(windows):
            if self.instants is None:
                steps = self._steps(edge)
                mask[steps.start :: steps.step] = True
            else:
                mask[self._places(edge)] = True
        return mask

    def times(self, mask: BoolArray) -> IntArray:
        """The instants of the places marked."""
        marked = np.flatnonzero(mask)
        if self.instants is None:
            return self.low_us + marked * self.grid_us
        return self.instants[marked]

    def _has_places(self, edge: EdgeClass) -> bool:
        if self.instants is None:
            off_us = math.gcd(edge.period_us, edge.offset_us - self.low_us) % self.grid_us
            return off_us == 0
        if self.span_us // edge.period_us > self.size:
            return False
        edges = edges_between([edge], self.low_us, self.low_us + self.span_us)
        return bool(np.isin(edges, self.instants, assume_unique=True).all())

    def _steps(self, edge: EdgeClass) -> range:
        first = (edge.offset_us - self.low_us) % edge.period_us // self.grid_us
        return range(first, self.size, edge.period_us // self.grid_us)

    def _places(self, edge: EdgeClass) -> Places:
        if self.instants is None:
            steps = self._steps(edge)
            return np.arange(steps.start, steps.stop, steps.step, dtype=np.int32)
        edges = edges_between([edge], self.low_us, self.low_us + self.span_us)
        return np.searchsorted(self.instants, edges).astype(np.int32)


def _composite(classes: Sequence[EdgeClass], most: int) -> Timeline | None:
    """One composite slide from the first class's offset, if it has few enough places."""
    span_us = math.lcm(*(edge.period_us for edge in classes))
    low_us, grid_us = classes[0].offset_us if classes else 0, pane_us(classes) if classes else 1
    if span_us // grid_us <= most and span_us <= _LONGEST_SPAN_US:
        return Timeline(low_us, span_us, grid_us, exact=True)
    if span_us <= _LONGEST_SPAN_US and _listed_in(classes, span_us) <= min(most, COMMON_PLACES):
        return _listing(classes, low_us, span_us, exact=True)
    return None


def _horizon(classes: Sequence[EdgeClass], most: int) -> Timeline:
    grid_us, longest_us = pane_us(classes), max(edge.period_us for edge in classes)
    low_us = _HORIZON_START_US + (classes[0].offset_us - _HORIZON_START_US) % grid_us
    steps = max(LEAST_PLACES, -(-HORIZON_SLIDES * longest_us // grid_us))
    if steps <= most:
        return Timeline(low_us, steps * grid_us, grid_us, exact=False)
    per_us = math.fsum(1 / edge.period_us for edge in pruned_classes(classes))
    span_us = min(max(HORIZON_SLIDES * longest_us, int(LEAST_PLACES / per_us)), int(most / per_us))
    if most * grid_us >= span_us:
        return Timeline(low_us, most * grid_us, grid_us, exact=False)
    return _listing(classes, low_us, min(span_us, _LONGEST_SPAN_US), exact=False)


def _listing(classes: Sequence[EdgeClass], low_us: int, span_us: int, exact: bool) -> Timeline:
    instants = edges_between(pruned_classes(classes), low_us, low_us + span_us)
    return Timeline(low_us, span_us, grid_us=1, exact=exact, instants=instants)


def _listed_in(classes: Sequence[EdgeClass], span_us: int) -> int:
    return sum(span_us // edge.period_us for edge in pruned_classes(classes))
