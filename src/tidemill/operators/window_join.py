"""The join of windows on a common key: every result that comes in a span of time, or goes, once.

A row of a window of length r lives `[time, time + r)`, a result while all of its rows live. So a
result comes with its youngest row and goes with the one that dies first. That row is its
*driver*; the other rows are one run of times in each piece, for any number of windows. Rows of
equal time come in the order of the sides, and those that die together go in it. Nothing is
remembered but the rows, so it does not matter how time is cut into spans.

Results are counted first. The runs of a driver then say what they are, however many they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.operators.loops import count_results, equal_hashes, find_runs, groups_at
from tidemill.state.keyed_rows import KeyedRows

# Drivers that are looked at together, times the pieces that they look into.
MOST_RUNS = 1 << 24
# No count of results is told beyond this.
COUNT_LIMIT = 1 << 62
_SAMPLED, _COUNT = 64, "_count"


@dataclass(frozen=True)
class HeldSide:
    """The length of a side's window, and its rows, a piece after the other as they came."""

    range_us: int
    pieces: tuple[KeyedRows, ...]


@dataclass(frozen=True)
class WindowJoinSpan:
    """The results whose instants lie in `[first_us, until_us)`: where they come, or go."""

    sides: tuple[HeldSide, ...]
    first_us: int
    until_us: int
    goes: bool = False
    most_runs: int = MOST_RUNS

    def blocks(self) -> Iterator[DriverBlock]:
        """What comes or goes, in order of time, as many drivers at a time as fit."""
        if len(self._parts) == 1:
            yield self._only_block
            return
        yield from map(_block, self._parts)

    @property
    def results(self) -> int:
        """How many there are, or `COUNT_LIMIT` if that is less."""
        return min(sum(block.results for block in self.blocks()), COUNT_LIMIT)

    def heaviest(self) -> tuple[pa.Table, int]:
        """The key with the most results, as a row, and how many those are."""
        totals = _totals(pa.concat_tables([block.by_key() for block in self.blocks()]))
        names = totals.column_names[:-1]
        order = [(_COUNT, "descending"), *((name, "ascending") for name in names)]
        top = totals.sort_by(order).slice(0, 1)
        return top.select(names), int(top.column(_COUNT)[0].as_py())

    @cached_property
    def _only_block(self) -> DriverBlock:
        return _block(self._parts[0])

    @cached_property
    def pieces(self) -> tuple[tuple[int, KeyedRows], ...]:
        """All of them with the number of their side."""
        return tuple((n, piece) for n, side in enumerate(self.sides) for piece in side.pieces)

    @property
    def first_runs(self) -> IntArray:
        """The number of the first piece of each side, and that of all."""
        return np.append(0, np.cumsum([len(side.pieces) for side in self.sides]))

    def shift_us(self, side: int) -> int:
        """The instant of a result less the time of its driver."""
        return self.sides[side].range_us if self.goes else 0

    def reach_us(self, side: int, other: int) -> tuple[int, int]:
        """From when to when a driver's partners of another side are, counted from its own time."""
        if not self.goes:
            return 1 - self.sides[other].range_us, -1 if other > side else 0
        low_us = self.sides[side].range_us - self.sides[other].range_us
        return low_us + (other < side), self.sides[side].range_us - 1

    def bounds(self, side: int, piece: KeyedRows) -> tuple[int, int]:
        """Where in order of time the drivers of a piece begin, and where they end."""
        shift_us = self.shift_us(side)
        low, high = (piece.count_before(us - shift_us) for us in (self.first_us, self.until_us))
        return low, high

    @cached_property
    def _parts(self) -> tuple[WindowJoinSpan, ...]:
        return tuple(
            replace(self, first_us=first_us, until_us=until_us)
            for first_us, until_us in self._cuts()
        )

    def _cuts(self) -> list[tuple[int, int]]:
        """The span, or parts of it with fewer drivers."""
        instants_us, count = list[IntArray](), 0
        for side, piece in self.pieces:
            low, high = self.bounds(side, piece)
            instants_us.append(piece.times_us[piece.by_time[low:high:_SAMPLED]])
            instants_us[-1] = instants_us[-1] + self.shift_us(side)
            count += high - low
        parts = -(-count * len(self.pieces) // self.most_runs)
        if not count:
            return []
        sample_us = np.sort(np.concatenate(instants_us))
        inner = np.unique(sample_us[np.arange(1, parts) * len(sample_us) // parts]).tolist()
        edges = [self.first_us, *(us for us in inner if us > self.first_us), self.until_us]
        return list(pairwise(edges))


@dataclass(frozen=True)
class DriverBlock:
    """Drivers in order of their instants, and what each meets: a run in each piece of a side."""

    span: WindowJoinSpan
    instants_us: IntArray
    lows: Array  # by piece, by driver
    highs: Array
    sizes: IntArray  # by side, by driver: the rows that it meets
    counts: IntArray  # by driver: the results

    @property
    def results(self) -> int:
        """How many there are, or a number beyond every bound."""
        total = float(self.counts.sum(dtype=np.float64))
        return int(self.counts.sum()) if total < COUNT_LIMIT else COUNT_LIMIT

    def by_key(self) -> pa.Table:
        """The keys, and how many results have each."""
        tables, is_open = list[pa.Table](), self.counts > 0
        for run, piece in enumerate(self.span.sides[0].pieces):
            driver = np.flatnonzero(is_open & (self.highs[run] > self.lows[run]))
            is_open[driver] = False
            groups = np.searchsorted(piece.first, self.lows[run, driver], side="right") - 1
            keys = piece.key_at(groups)
            keys = keys.rename_columns([f"_{number}" for number in range(keys.num_columns)])
            tables.append(keys.append_column(_COUNT, pa.array(self.counts[driver].astype(float))))
        return _totals(pa.concat_tables(tables))


def _totals(counts: pa.Table) -> pa.Table:
    """The sum of the counts of each key."""
    names = counts.column_names[:-1]
    totals = counts.group_by(names).aggregate([(_COUNT, "sum")])
    return totals.select([*names, f"{_COUNT}_sum"]).rename_columns([*names, _COUNT])


@dataclass(frozen=True)
class _Drivers:
    """Those of one piece: sorted by key, and where each stands in order of time."""

    side: int
    piece: KeyedRows
    places: Array
    rank: Array  # by number in order of time, the number in order of the key

    @cached_property
    def times_us(self) -> IntArray:
        return self.piece.times_us[self.places]

    @cached_property
    def groups(self) -> IntArray:
        return groups_at(self.piece.first, self.places)


def _block(span: WindowJoinSpan) -> DriverBlock:
    several = [_drivers(span, side, piece) for side, piece in span.pieces]
    instants_us, slots = _in_order(span, several)
    lows = np.zeros((len(several), len(instants_us)), np.int32)
    highs = np.zeros_like(lows)
    for run, (drivers, drivers_slots) in enumerate(zip(several, slots, strict=True)):
        lows[run, drivers_slots] = drivers.places
        highs[run, drivers_slots] = drivers.places + 1
        for other, (side, piece) in enumerate(span.pieces):
            if side != drivers.side and len(drivers.places):
                _find_partners(span, drivers, side, piece, drivers_slots, lows[other], highs[other])
    sizes = np.empty((len(span.sides), len(instants_us)), np.int64)
    counts = count_results(lows, highs, span.first_runs, sizes, COUNT_LIMIT)
    return DriverBlock(span, instants_us, lows, highs, sizes, counts)


def _drivers(span: WindowJoinSpan, side: int, piece: KeyedRows) -> _Drivers:
    low, high = span.bounds(side, piece)
    in_time = piece.by_time[low:high]
    if len(in_time) * 16 < len(piece):
        by_key = np.argsort(in_time)
        rank = np.empty(len(by_key), np.int64)
        rank[by_key] = np.arange(len(by_key))
        return _Drivers(side, piece, in_time[by_key], rank)
    is_driver = np.zeros(len(piece), np.bool_)
    is_driver[in_time] = True
    places = np.flatnonzero(is_driver).astype(np.int32)
    return _Drivers(side, piece, places, (np.cumsum(is_driver) - 1)[in_time])


def _in_order(span: WindowJoinSpan, several: Sequence[_Drivers]) -> tuple[IntArray, list[IntArray]]:
    """The instants of all drivers in order, and for each piece where its drivers stand in it.

    Of equal instants those of an earlier side come first, then those of an earlier piece.
    """
    instants_us = np.concatenate(
        [drivers.times_us[drivers.rank] + span.shift_us(drivers.side) for drivers in several]
    )
    order = np.argsort(instants_us, kind="stable")
    standing = np.empty(len(order), np.int64)
    standing[order] = np.arange(len(order))
    slots, begin = list[IntArray](), 0
    for drivers in several:
        places = standing[begin : begin + len(drivers.rank)]
        by_key = np.empty(len(places), np.int64)
        by_key[drivers.rank] = places
        slots.append(by_key)
        begin += len(places)
    return instants_us[order], slots


def _find_partners(
    span: WindowJoinSpan,
    drivers: _Drivers,
    side: int,
    piece: KeyedRows,
    slots: IntArray,
    lows: Array,
    highs: Array,
) -> None:
    distinct, number = _runs_of_equal(drivers.groups)
    partners = _equal_keys(drivers.piece, distinct, piece)[number]
    low_us, high_us = span.reach_us(drivers.side, side)
    times_us, others_us = drivers.times_us, piece.times_us
    find_runs(times_us, partners, low_us, high_us, piece.first, others_us, slots, lows, highs)


def _runs_of_equal(groups: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct ones among ascending numbers, and of each the place among these."""
    is_new = np.append(True, groups[1:] != groups[:-1])
    return groups[is_new], np.cumsum(is_new) - 1


def _equal_keys(rows: KeyedRows, groups: IntArray, others: KeyedRows) -> IntArray:
    """Of each key the number of the equal one among the others, or -1.

    Keys whose hashes are equal are compared; hardly ever do they differ.
    """
    lows, highs = equal_hashes(rows.hashes[groups], others.hashes)
    number = np.repeat(np.arange(len(groups)), highs - lows)
    ends = np.cumsum(highs - lows)
    other = np.arange(len(number)) - np.repeat(ends - (highs - lows), highs - lows)
    other += np.repeat(lows, highs - lows)
    partners = np.full(len(groups), -1, np.int64)
    is_equal = _are_equal(rows.key_at(groups[number]), others.key_at(other))
    partners[number[is_equal]] = other[is_equal]
    return partners


def _are_equal(left: pa.Table, right: pa.Table) -> BoolArray:
    """Row by row; NaN equals NaN."""
    equal: BoolArray = np.ones(len(left), np.bool_)
    for column, other in zip(left.columns, right.columns, strict=True):
        equal &= _equal_values(column.combine_chunks(), other.combine_chunks())
    return equal


def _equal_values(column: pa.Array, other: pa.Array) -> BoolArray:
    if pa.types.is_floating(column.type):
        values, others = column.to_numpy(), other.to_numpy()
        either: BoolArray = (values == others) | (np.isnan(values) & np.isnan(others))
        return either
    equal: BoolArray = pa.compute.equal(column, other).to_numpy(zero_copy_only=False)
    return equal
