"""Edges that change over time: queries come and go while the stream runs.

A change of windows applies from a boundary on, which is an edge of the old cut beyond every
time seen so far: no slice that holds rows is ever split, and a slice lies on one side.

>>> cuts = Cuts().recut((WindowSpec(10, 10),), newest_us=None)
>>> later = cuts.recut((WindowSpec(10, 10), WindowSpec(4, 4)), newest_us=13)
>>> [cut.from_us for cut in later.cuts] == [BEGINNING_US, 20]
True
>>> later.starts(np.array([13, 19, 23, 29])).tolist()
[10, 10, 20, 28]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tidemill.arrays import BoolArray, IntArray
from tidemill.windows.edges import (
    EdgeClass,
    WindowSpec,
    edge_classes,
    holds_edges,
    offsets_by_period,
    slice_end,
    slice_starts,
)

# Before and after any time a row or a window may have, and far enough inside 64 bits to add a
# range to.
BEGINNING_US = -(2**62)
END_US = 2**62


@dataclass(frozen=True)
class Cut:
    """The windows whose edges cut time from `from_us` on, until the next cut."""

    from_us: int
    windows: tuple[WindowSpec, ...]

    @cached_property
    def classes(self) -> tuple[EdgeClass, ...]:
        return edge_classes(self.windows)

    @cached_property
    def keeps_all(self) -> bool:
        """True if every slice is read; those in gaps of hopping windows are left out."""
        return any(spec.slide_us <= spec.range_us for spec in self.windows)

    def serves(self, spec: WindowSpec) -> bool:
        """True if any window of the spec is a run of slices that are all kept."""
        return holds_edges(self._offsets, spec) and (self.keeps_all or spec in self.windows)

    @cached_property
    def _offsets(self) -> dict[int, set[int]]:
        return offsets_by_period(self.classes)


@dataclass(frozen=True)
class Cuts:
    """One cut after another, ascending; the first is from the beginning of time."""

    cuts: tuple[Cut, ...] = ()

    @property
    def windows(self) -> tuple[WindowSpec, ...]:
        """The windows that cut new rows."""
        return self.cuts[-1].windows if self.cuts else ()

    def boundary(self, newest_us: int | None) -> int:
        """From when on a change made now can apply: the next edge after all that was seen."""
        if newest_us is None or not self.cuts:
            return BEGINNING_US
        return slice_end(newest_us, self._at(newest_us).classes)

    def recut(self, windows: tuple[WindowSpec, ...], newest_us: int | None) -> Cuts:
        """With other windows from the boundary on; a change that has not begun is replaced."""
        from_us = self.boundary(newest_us)
        begun = tuple(cut for cut in self.cuts if cut.from_us < from_us)
        if begun and begun[-1].keeps_all and begun[-1].classes == edge_classes(windows):
            return Cuts(begun)
        return Cuts((*begun, Cut(from_us, windows)))

    def since(self, spec: WindowSpec) -> int:
        """From when on the edges of the window are edges here; never: the end of time."""
        since = END_US
        for cut in reversed(self.cuts):
            if not cut.serves(spec):
                break
            since = cut.from_us
        return since

    def after(self, watermark_us: int) -> Cuts:
        """Without the cuts that no row and no slice from the watermark on belongs to."""
        if len(self.cuts) == 1:
            return self
        ends = [*(cut.from_us for cut in self.cuts[1:]), END_US]
        return Cuts(tuple(c for c, end in zip(self.cuts, ends, strict=False) if end > watermark_us))

    def starts(self, times_us: IntArray) -> IntArray:
        """The start of each instant's slice."""
        return self._by_cut(times_us, _starts)

    def in_some_window(self, starts_us: IntArray) -> BoolArray:
        """Flags of the slices that some window reads; no window reads those in gaps."""
        found = self._by_cut(starts_us, _read_by_some)
        return found.astype(np.bool_)

    def _at(self, t_us: int) -> Cut:
        return next(cut for cut in reversed(self.cuts) if cut.from_us <= t_us)

    def _by_cut(self, times_us: IntArray, apply: Callable[[Cut, IntArray], IntArray]) -> IntArray:
        if len(self.cuts) == 1:
            return apply(self.cuts[0], times_us)
        result = np.empty(len(times_us), dtype=np.int64)
        for cut, end in self._spans():
            is_within = (times_us >= cut.from_us) & (times_us < end)
            if is_within.any():
                result[is_within] = apply(cut, times_us[is_within])
        return result

    def _spans(self) -> Iterator[tuple[Cut, int]]:
        ends = [cut.from_us for cut in self.cuts[1:]] + [END_US]
        # Times before the first cut that is kept are of windows closed long ago.
        first = Cut(BEGINNING_US, self.cuts[0].windows)
        return zip((first, *self.cuts[1:]), ends, strict=True)


def _starts(cut: Cut, times_us: IntArray) -> IntArray:
    return np.maximum(slice_starts(times_us, cut.classes), cut.from_us)


def _read_by_some(cut: Cut, starts_us: IntArray) -> IntArray:
    if cut.keeps_all:
        return np.ones(len(starts_us), dtype=np.int64)
    inside = [(starts_us - w.start_us) % w.slide_us < w.range_us for w in cut.windows]
    return np.asarray(np.logical_or.reduce(inside), dtype=np.int64)
