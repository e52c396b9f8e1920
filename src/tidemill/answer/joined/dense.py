"""Blocks of the dense kernel: looks by keys, or looks alone where the query has no groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tidemill.aggregates import Encoded
from tidemill.aggregates.encoded import concatenate_encoded
from tidemill.aggregates.lanes import KernelLane
from tidemill.answer.joined.inputs import JoinedLanes, SideWindows
from tidemill.answer.joined.keyed import DenseKeys, KeyedJoin
from tidemill.answer.joined.matrices import SideAxis, SideMatrix
from tidemill.answer.joined.products import Probe, Products
from tidemill.answer.joined.sections import sections
from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.window_join import Among, Guard
from tidemill.state.layouts.dense import BLOCK_CELLS, MOST_CELLS
from tidemill.state.layouts.lane_values import CombinedValues

# Looks by keys in a block. Each lane is made of them in one pass or two, so that to finish a block
# costs more than memory that is not at hand: with 2^17 of them it all took half as long again.
MOST_KEYED = 2**20
# Looks by keys behind a block of looks alone: a side has 32 MiB of counts of them.
MOST_TOTALLED = 2**22


class DenseJoin:
    """The sides of a join by the keys that may have rows."""

    def __init__(self, join: KeyedJoin, keys: DenseKeys, windows: Sequence[SideWindows]) -> None:
        self.join, self.keys, self.is_met = join, len(keys), keys.is_met
        self.axes = [
            SideAxis(side, of_side, keys.place[numbers], len(keys))
            for side, of_side, numbers in zip(join.sides, windows, join.keys.numbers, strict=True)
        ]
        readings = [of_side.readings for of_side in windows]
        # Windows that end together read the same totals, which are then at hand.
        order = np.lexsort((windows[0].ends_us, *readings))
        self._rank = np.empty(len(order), np.int64)
        self._rank[order] = np.arange(len(order))

    @cached_property
    def by_look(self) -> dict[Guard, BoolArray]:
        """The guards that do not look at a key, and whether they hold."""
        guards = {guard for term in self.join.join.terms for guard in term.guards}
        return {guard: self._holds(guard) for guard in guards if guard.among is not Among.KEY}

    def _holds(self, guard: Guard) -> BoolArray:
        side, keys = self.axes[guard.side], self.join.keys
        if guard.among is Among.WINDOW:
            return np.asarray(side.has_rows == guard.exists)
        is_null = keys.numbers[guard.side] == keys.of_nulls(guard.side)
        return np.asarray(side.has_rows_of(is_null) == guard.exists)

    def cells(self) -> tuple[int, int]:
        """The cells of all matrices: those of slices, and those of looks."""
        sections = self._sections(np.argsort(self._rank))
        slices = sum(last - first for _, spans in sections for first, last in spans)
        return slices * self.keys, len(self._rank) * self.keys

    def blocks(self, look: IntArray, has_groups: bool) -> Iterator[KeyedBlock | TotalBlock]:
        """Windows, of which `look` tells where they look, some of them at a time."""
        step = (MOST_KEYED if has_groups else MOST_TOTALLED) // max(1, self.keys)
        here = np.flatnonzero(look >= 0)
        by_rank = here[np.argsort(self._rank[look[here]], kind="stable")]
        for places, spans in self._sections(look[by_rank]):
            section = self._section(tuple(spans))
            for windows in _in_steps(by_rank[places], step):
                if has_groups:
                    yield KeyedBlock(section, windows, look[windows])
                else:
                    yield TotalBlock(section, windows[:, None], look[windows][:, None])

    def _sections(self, look: IntArray) -> Iterator[tuple[slice, list[tuple[int, int]]]]:
        """Runs of looks, and for each the slices of each side that hold all their windows."""
        whole = [(0, axis.slices) for axis in self.axes]
        if all(axis.slices * self.keys <= MOST_CELLS for axis in self.axes):
            yield slice(0, len(look)), whole
            return
        bounds = [(axis.lo[look], axis.hi[look]) for axis in self.axes]
        yield from sections(bounds, MOST_CELLS // self.keys)

    def _section(self, spans: tuple[tuple[int, int], ...]) -> Section:
        """One at a time is kept: the next windows lie further on."""
        if self._made is None or self._made[0] != spans:
            sides = [SideMatrix(axis, *span) for axis, span in zip(self.axes, spans, strict=True)]
            self._made = spans, Section(self, sides)
        return self._made[1]

    _made: tuple[tuple[tuple[int, int], ...], Section] | None = None


@dataclass(frozen=True)
class Section:
    """Some slices of each side as matrices."""

    join: DenseJoin
    sides: Sequence[SideMatrix]

    @property
    def keys(self) -> int:
        return self.join.keys

    @property
    def lanes(self) -> JoinedLanes:
        return self.join.join.lanes

    def products(self, probe: Probe) -> Products:
        join, terms = self.join, self.join.join.join.terms
        return Products(terms, self.lanes, self.sides, join.by_look, join.is_met, probe)


def _in_steps(looks: IntArray, step: int) -> Iterator[IntArray]:
    for first in range(0, len(looks), max(1, step)):
        yield looks[first : first + max(1, step)]


@dataclass(frozen=True)
class _Looks:
    """All keys of some looks."""

    looks: IntArray
    keys: int

    @property
    def look(self) -> IntArray:
        return self.looks[:, None]

    @property
    def key(self) -> IntArray:
        return np.arange(self.keys)[None, :]

    def lane(self, side: SideMatrix, number: int) -> CombinedValues:
        return side.windows(number, self.looks)


@dataclass(frozen=True)
class _Places:
    """One key of each of some looks."""

    look: IntArray
    key: IntArray

    def lane(self, side: SideMatrix, number: int) -> CombinedValues:
        return side.at(number, self.look, self.key)


class KeyedBlock:
    """Some looks by all keys; the group of a cell is its key."""

    def __init__(self, join: Section, windows: IntArray, looks: IntArray) -> None:
        self._join, self._looks, probe = join, looks, _Looks(looks, join.keys)
        self.products = join.products(probe)
        self.shape = (len(looks), join.keys)
        self.window, self.group = windows[:, None], probe.key

    @cached_property
    def present(self) -> BoolArray | None:
        present = self.products.present
        return None if present.all() else present.reshape(self.shape)

    def lane(self, number: int) -> CombinedValues:
        return self.products.lane(number)

    def at(self, cells: IntArray) -> PlacedBlock:
        row, key = np.divmod(cells, self._join.keys)
        return PlacedBlock(self._join, self.window[row, 0], self._looks[row], key)


class PlacedBlock:
    """Some looks and keys with rows."""

    present: BoolArray | None = None

    def __init__(self, join: Section, window: IntArray, look: IntArray, key: IntArray) -> None:
        self._join, self.window, self._look, self.group = join, window, look, key
        self.shape = (len(look),)

    @cached_property
    def _products(self) -> Products:
        return self._join.products(_Places(self._look, self.group))

    def lane(self, number: int) -> CombinedValues:
        return self._products.lane(number)

    def at(self, cells: IntArray) -> PlacedBlock:
        places = (numbers[cells] for numbers in (self.window, self._look, self.group))
        return PlacedBlock(self._join, *places)


class TotalBlock:
    """Some looks, each with one group: the rows of all keys."""

    def __init__(self, join: Section, window: IntArray, look: IntArray) -> None:
        self._join, self.window, self._look, self.shape = join, window, look, window.shape
        self.group = np.zeros_like(window)

    @cached_property
    def _blocks(self) -> list[KeyedBlock]:
        looks = self._look.ravel()
        runs = [*_in_steps(looks, self._step)] or [looks]
        return [KeyedBlock(self._join, run, run) for run in runs]

    @property
    def _step(self) -> int:
        return BLOCK_CELLS // max(1, self._join.keys)

    @cached_property
    def present(self) -> BoolArray | None:
        rows = [block.products.present.reshape(block.shape).any(axis=1) for block in self._blocks]
        present = np.concatenate(rows)
        return None if present.all() else present.reshape(self.shape)

    def lane(self, number: int) -> CombinedValues:
        lane = self._join.lanes.lanes[number]
        assert isinstance(lane, KernelLane)
        totals = concatenate_encoded([_total(lane, block, number) for block in self._blocks])
        return totals.values, totals.valid

    def at(self, cells: IntArray) -> TotalBlock:
        return TotalBlock(self._join, self.window.ravel()[cells], self._look.ravel()[cells])


def _total(lane: KernelLane, block: KeyedBlock, number: int) -> Encoded:
    """The lane of each look of the block, from all its keys."""
    values, valid = block.lane(number)
    present, (looks, keys) = block.present, block.shape
    if values.ndim == 1 and lane.algebra.combine is np.add:
        known = valid if present is None else _both(valid, present.ravel())
        values = values if known is None else np.where(known, values, 0)
        totals = values.reshape(block.shape).sum(axis=1)
        if valid is None or known is None:
            return Encoded(totals, None)
        is_known: BoolArray = np.any(known.reshape(block.shape), axis=1)
        return Encoded(totals, is_known)
    rows = np.arange(looks * keys) if present is None else np.flatnonzero(present)
    return lane.combined(Encoded(values, valid), rows // keys, looks, rows)


def _both(valid: BoolArray | None, present: BoolArray) -> BoolArray:
    return present if valid is None else valid & present
