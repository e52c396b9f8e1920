"""The results of a join of windows, a batch at a time: the row of each side, and its columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa

from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.operators.loops import fill_side
from tidemill.operators.window_join import DriverBlock, HeldSide

BATCH_RESULTS = 1 << 20


@dataclass(frozen=True)
class JoinBatch:
    """Results in order of their instants; by side the piece of each one's row, and its place."""

    sides: tuple[HeldSide, ...]
    instants_us: IntArray
    pieces: tuple[Array, ...]
    places: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.instants_us)

    def only(self, chosen: BoolArray) -> JoinBatch:
        """Some of the results."""
        pieces, places = (tuple(a[chosen] for a in b) for b in (self.pieces, self.places))
        return JoinBatch(self.sides, self.instants_us[chosen], pieces, places)

    def column(self, side: int, place: int) -> pa.Array:
        """A column of the rows of a side."""
        columns = [piece.columns.column(place) for piece in self.sides[side].pieces]
        return self._gather(side, [column.combine_chunks() for column in columns])

    def times_us(self, side: int) -> IntArray:
        """The times of the rows of a side."""
        pieces = [pa.array(piece.times_us) for piece in self.sides[side].pieces]
        times_us: IntArray = self._gather(side, pieces).to_numpy()
        return times_us

    @property
    def begins_us(self) -> IntArray:
        """When each result came: with the youngest of its rows."""
        return reduce(np.maximum, map(self.times_us, range(len(self.sides))))

    @property
    def ends_us(self) -> IntArray:
        """When each goes: with the first of its rows."""
        ends = (self.times_us(n) + side.range_us for n, side in enumerate(self.sides))
        return reduce(np.minimum, ends)

    def _gather(self, side: int, columns: list[pa.Array]) -> pa.Array:
        places, pieces = self.places[side], self.pieces[side]
        if len(columns) == 1:
            return _take(columns[0], places)
        order = np.argsort(pieces, kind="stable")
        ends = np.cumsum(np.bincount(pieces, minlength=len(columns)))
        runs = np.split(places[order], ends[:-1])
        by_piece = pa.concat_arrays(list(map(_take, columns, runs)))
        back = np.empty(len(order), np.int32)
        back[order] = np.arange(len(order), dtype=np.int32)
        return _take(by_piece, back)


def _take(column: pa.Array, places: Array) -> pa.Array:
    return column.take(pa.array(places))


def batches_of(block: DriverBlock, most_results: int = BATCH_RESULTS) -> Iterator[JoinBatch]:
    """The results of a block; arrays of places are filled again for each batch."""
    ends, sides = np.cumsum(block.counts), block.span.sides
    total = int(ends[-1]) if len(ends) else 0
    room = min(total, most_results)
    pieces = [np.empty(room, np.int16) for _ in sides]
    places = [np.empty(room, np.int32) for _ in sides]
    for begin in range(0, total, most_results):
        end = min(begin + most_results, total)
        first = int(np.searchsorted(ends, begin, side="right"))
        last = int(np.searchsorted(ends, end, side="left")) + 1
        for side in range(len(sides)):
            fill_side(
                side,
                begin,
                end,
                ends,
                first,
                block.sizes,
                block.lows,
                block.highs,
                block.span.first_runs,
                pieces[side],
                places[side],
            )
        shares = np.diff(np.minimum(ends[first:last], end), prepend=begin)
        yield JoinBatch(
            sides,
            np.repeat(block.instants_us[first:last], shares),
            tuple(array[: end - begin] for array in pieces),
            tuple(array[: end - begin] for array in places),
        )
