"""Windows, and the edges at which they cut time: every window is a run of whole slices.

Window k is the half-open span `[start_us + k * slide_us, … + range_us)` for every integer k,
before 1970 as well as after. This is the anchoring of Spark's `window()`. The edges of one
window are its starts and its ends: two classes of instants, each an offset modulo the slide
(paired windows). The edges of many windows are the union of their classes. A slice is
`[edge, next edge)`.

>>> print(WindowSpec(60_000_000, 10_000_000, 500_000))
RANGE 60 s SLIDE 10 s START 0.5 s
>>> WindowSpec(range_us=12, slide_us=9).first_start_after(10)
18
>>> a, b = WindowSpec(8, 5), WindowSpec(5, 4)
>>> classes = edge_classes([a, b])
>>> [(c.offset_us, c.period_us) for c in classes]
[(0, 4), (1, 4), (0, 5), (3, 5)]
>>> edges_between(classes, 1, 14).tolist()
[1, 3, 4, 5, 8, 9, 10, 12, 13]
>>> slice_start(7, classes), slice_end(7, classes)
(5, 8)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tidemill.arrays import IntArray

# 2^60 µs is about 36,000 years. With ranges, slides and times below it, every sum in the
# vectorised code stays inside 64 bits.
LONGEST_US = 2**60
# Edges listed at most when a rate is counted: 8 MiB of instants, sorted in about 0.1 s.
MOST_COUNTED_EDGES = 2**20
# Where an estimated horizon begins: a round instant in 2023. Near the epoch all windows
# without START share edges, which would make the estimate too low for any real stream.
_HORIZON_START_US = 1_700_000_000_000_000
# Instants this far from the epoch and this far from each other still fit 64 bits.
_LONGEST_SPAN_US = 2**61
_US_PER_SECOND = 1_000_000


@dataclass(frozen=True)
class WindowSpec:
    """Range, slide and anchor of a window; cannot be built with a span that has no meaning."""

    range_us: int
    slide_us: int
    start_us: int = 0

    def __post_init__(self) -> None:
        for name in ("range_us", "slide_us"):
            if not 0 < getattr(self, name) <= LONGEST_US:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be 1 to {LONGEST_US}")
        if abs(self.start_us) >= self.slide_us:
            raise ValueError(
                f"start_us is {self.start_us}; its size must be below the slide, {self.slide_us}"
            )

    @property
    def overlap(self) -> int:
        """The most windows any one instant belongs to."""
        return -(-self.range_us // self.slide_us)

    def window_start(self, k: int) -> int:
        return self.start_us + k * self.slide_us

    def last_ending_by(self, t_us: int) -> int:
        """Number of the last window that ends at or before the instant."""
        return (t_us - self.start_us - self.range_us) // self.slide_us

    def first_start_after(self, t_us: int) -> int:
        """Start of the first window that begins after the instant."""
        return self.window_start((t_us - self.start_us) // self.slide_us + 1)

    def __str__(self) -> str:
        start = f" START {_seconds(self.start_us)}" if self.start_us else ""
        return f"RANGE {_seconds(self.range_us)} SLIDE {_seconds(self.slide_us)}{start}"


def _seconds(span_us: int) -> str:
    sign = "-" if span_us < 0 else ""
    whole, rest_us = divmod(abs(span_us), 1_000_000)
    fraction = f".{rest_us:06d}".rstrip("0") if rest_us else ""
    return f"{sign}{whole}{fraction} s"


@dataclass(frozen=True)
class EdgeClass:
    """The edges `{t : t ≡ offset_us (mod period_us)}`; the offset is kept in `[0, period_us)`."""

    offset_us: int
    period_us: int

    def __post_init__(self) -> None:
        if self.period_us <= 0:
            raise ValueError(f"period_us is {self.period_us}; an edge class needs a positive one")
        object.__setattr__(self, "offset_us", self.offset_us % self.period_us)


def edge_classes(specs: Iterable[WindowSpec]) -> tuple[EdgeClass, ...]:
    """The union of the windows' starts and ends, without classes that others contain.

    The result is sorted by period, then offset, and is the same for any order of `specs`.
    """
    return pruned_classes(edge for spec in specs for edge in _paired(spec))


def pruned_classes(classes: Iterable[EdgeClass]) -> tuple[EdgeClass, ...]:
    """The classes, sorted by period and offset, without those that another one contains."""
    by_period: dict[int, set[int]] = {}
    for period, offsets in sorted(offsets_by_period(classes).items()):
        dividing = [(p, by_period[p]) for p in by_period if period % p == 0]
        new = {o for o in offsets if not any(o % p in known for p, known in dividing)}
        if new:
            by_period[period] = new
    return tuple(
        EdgeClass(offset, period)
        for period, offsets in by_period.items()
        for offset in sorted(offsets)
    )


def slice_start(t_us: int, classes: Sequence[EdgeClass]) -> int:
    """The greatest edge at or before the instant."""
    _require(classes)
    return max(t_us - (t_us - c.offset_us) % c.period_us for c in classes)


def slice_end(t_us: int, classes: Sequence[EdgeClass]) -> int:
    """The least edge after the instant."""
    _require(classes)
    return min(t_us + c.period_us - (t_us - c.offset_us) % c.period_us for c in classes)


def slice_starts(times_us: IntArray, classes: Sequence[EdgeClass]) -> IntArray:
    """`slice_start` of many instants at once, by whichever of two ways touches less."""
    edges = _listed_edges(times_us, classes)
    if edges is not None:
        return edges[np.searchsorted(edges, times_us, side="right") - 1]
    # NumPy's remainder takes the sign of the divisor, which is what holds before 1970.
    starts = (times_us - (times_us - c.offset_us) % c.period_us for c in classes)
    return functools.reduce(np.maximum, starts)


def edges_between(classes: Sequence[EdgeClass], low_us: int, high_us: int) -> IntArray:
    """All edges in `[low_us, high_us)`, ascending, each once."""
    runs = [
        np.arange(
            low_us + (c.offset_us - low_us) % c.period_us, high_us, c.period_us, dtype=np.int64
        )
        for c in classes
    ]
    if len(runs) == 1:
        return runs[0]
    return _distinct(np.concatenate(runs)) if runs else np.empty(0, np.int64)


def edge_rate(specs: Iterable[WindowSpec], most_counted: int = MOST_COUNTED_EDGES) -> Fraction:
    """Edges per second of the windows together.

    Exact, by counting one composite slide (the least common multiple of the periods), when the
    classes list at most `most_counted` edges in it. Otherwise an estimate: the edges counted
    over a horizon in which the classes list about that many. A class too rare to show in the
    horizon is off by at most one part in `most_counted` of the rate.
    """
    classes = edge_classes(specs)
    if not classes:
        return Fraction(0)
    low_us, span_us = _counted_span(classes, most_counted)
    edges = _count_edges(classes, low_us, low_us + span_us)
    return Fraction(edges * _US_PER_SECOND, span_us)


def pane_us(classes: Sequence[EdgeClass]) -> int:
    """The longest pane such that every edge is `pane_origin` plus a whole number of panes."""
    _require(classes)
    base_us = classes[0].offset_us
    return math.gcd(*(c.period_us for c in classes), *(c.offset_us - base_us for c in classes))


def pane_origin(classes: Sequence[EdgeClass]) -> int:
    """The first pane boundary at or after the epoch."""
    return classes[0].offset_us % pane_us(classes)


def offsets_by_period(classes: Iterable[EdgeClass]) -> dict[int, set[int]]:
    """The classes in a form to look up edges in."""
    by_period: dict[int, set[int]] = {}
    for edge in classes:
        by_period.setdefault(edge.period_us, set()).add(edge.offset_us)
    return by_period


def holds_edges(by_period: Mapping[int, set[int]], spec: WindowSpec) -> bool:
    """True if every start and end of the window is plainly an edge of these classes."""
    return all(_contained(edge, by_period) for edge in _paired(spec))


@functools.lru_cache(maxsize=2**14)
def _paired(spec: WindowSpec) -> tuple[EdgeClass, EdgeClass]:
    return (
        EdgeClass(spec.start_us, spec.slide_us),
        EdgeClass(spec.start_us + spec.range_us, spec.slide_us),
    )


def _contained(edge: EdgeClass, by_period: Mapping[int, set[int]]) -> bool:
    """True if a kept class holds all of the edge's instants: its period divides, offsets agree."""
    return any(
        edge.period_us % period == 0 and edge.offset_us % period in offsets
        for period, offsets in by_period.items()
    )


def _listed_edges(times_us: IntArray, classes: Sequence[EdgeClass]) -> IntArray | None:
    """The edges from below the first instant to above the last, or None if they are too many."""
    _require(classes)
    if times_us.size == 0:
        return None
    low_us = slice_start(int(times_us.min()), classes)
    high_us = slice_end(int(times_us.max()), classes) + 1
    listed = sum((high_us - low_us) // c.period_us + 1 for c in classes)
    # Listing an edge (generate, sort) costs about as much as three of the divisions it saves.
    if 3 * listed > times_us.size * len(classes):
        return None
    return edges_between(classes, low_us, high_us)


def _counted_span(classes: Sequence[EdgeClass], most_counted: int) -> tuple[int, int]:
    """From where and for how long edges are counted to know their rate."""
    composite_us = math.lcm(*(c.period_us for c in classes))
    listed = sum(composite_us // c.period_us for c in classes)
    if listed <= most_counted and composite_us <= _LONGEST_SPAN_US:
        return 0, composite_us
    listed_per_us = math.fsum(1 / c.period_us for c in classes)
    return _HORIZON_START_US, min(int(most_counted / listed_per_us), _LONGEST_SPAN_US)


def _count_edges(classes: Sequence[EdgeClass], low_us: int, high_us: int) -> int:
    """How many there are in `[low_us, high_us)`, marked on their panes where these are few."""
    pane = pane_us(classes)
    first = low_us + (classes[0].offset_us - low_us) % pane
    panes = (high_us - first + pane - 1) // pane
    if panes > sum((high_us - low_us) // c.period_us for c in classes):
        return edges_between(classes, low_us, high_us).size
    is_edge = np.zeros(panes, dtype=np.bool_)
    for c in classes:
        is_edge[(c.offset_us - first) % c.period_us // pane :: c.period_us // pane] = True
    return int(np.count_nonzero(is_edge))


def _distinct(values: IntArray) -> IntArray:
    """Sorted, each once. `np.unique` gives the same by hashing first: 0.9 s a million, not 0.06."""
    values = np.sort(values)
    keep = np.ones(values.size, dtype=bool)
    keep[1:] = values[1:] != values[:-1]
    return values[keep]


def _require(classes: Sequence[EdgeClass]) -> None:
    if not classes:
        raise ValueError("there are no edges: no window was given to cut time by")
