"""Cells of the join, look by look: the sides' windows matched by key, term by term.

Looks are taken in chunks, so that what is in memory is bounded by one of them or by a constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tidemill.aggregates.numbering import Digit, number_rows
from tidemill.answer.joined.crossing import Crossed, combined_lane
from tidemill.answer.joined.inputs import SideWindows
from tidemill.answer.joined.keyed import KeyedJoin
from tidemill.answer.joined.keys import named_groups
from tidemill.answer.joined.sides import Side
from tidemill.answer.joined.terms import Matches, SideView, match
from tidemill.arrays import IntArray
from tidemill.state.cells import Cells

# Cells of sides that a chunk of looks reads, and rows of sides that it puts side by side.
MOST_ROWS = 2**21


class SparseJoin:
    """The join of some windows, worked out chunk by chunk."""

    def __init__(self, join: KeyedJoin, windows: Sequence[SideWindows]) -> None:
        self._join, self._windows = join, windows
        self._sides = [Side(side, of) for side, of in zip(join.sides, windows, strict=True)]

    def cells(self) -> Iterator[Cells]:
        """Cells whose slices are the numbers of looks; those of each chunk by themselves.

        A look without rows has no cells.
        """
        for looks in _chunks(np.arange(len(self._windows[0])), self.costs, MOST_ROWS):
            yield from self._chunk(looks)

    @property
    def costs(self) -> IntArray:
        """By look, the cells that all sides read."""
        costs: IntArray = np.sum([side.sizes[side.window] for side in self._sides], axis=0)
        return costs

    def _chunk(self, looks: IntArray) -> Iterator[Cells]:
        """The cells of some looks that follow one another."""
        views = [self._view(number, looks) for number in range(len(self._sides))]
        matches = [
            match(term, self._join.named(term.sides), views, looks, self._join.keys)
            for term in self._join.join.terms
        ]
        sizes = np.zeros(len(looks), np.int64)
        for term in matches:
            np.add.at(sizes, term.look - looks[0], term.sizes)
        for chunk in _chunks(looks, sizes, MOST_ROWS):
            crossed = [Crossed.of(_within(m, chunk)) for m in matches]
            if any(map(len, crossed)):
                yield self._cells([term for term in crossed if len(term)], chunk)

    def _view(self, number: int, looks: IntArray) -> SideView:
        side = self._sides[number]
        windows = np.unique(side.window[looks])
        rows = side.rows(windows[windows < side.windows])
        side_cells, groups = self._join.sides[number], self._join.groups[number]
        return SideView(side_cells, groups, rows, side.window, self._join.keys.count)

    def _cells(self, crossed: Sequence[Crossed], looks: IntArray) -> Cells:
        """The rows of all terms combined by look and group of the query."""
        look = np.concatenate([looks[:0], *(term.look for term in crossed)]) - looks[0]
        keys = self._join.query_keys
        codes = [
            np.concatenate([looks[:0], *(term.codes(key) for term in crossed)]) for key in keys
        ]
        digits = [key.digit(code) for key, code in zip(keys, codes, strict=True)]
        groups = number_rows(digits, len(look))
        group = Digit(groups.ids, max(1, groups.count))
        numbered = number_rows([group, Digit(look, len(looks))], len(look))
        lanes = zip(self._join.lanes.lanes, self._join.lanes.places, strict=True)
        return Cells(
            slices=looks,
            slice_index=look[numbered.rows],
            group=groups.ids[numbered.rows],
            groups=named_groups(keys, [code[groups.rows] for code in codes]),
            signature=np.zeros(numbered.count, np.int64),
            signatures=np.zeros((1, 0), np.int64),
            lanes=tuple(
                combined_lane(lane, place, crossed, numbered.ids, numbered.count)
                for lane, place in lanes
            ),
        )


def _within(matches: Matches, looks: IntArray) -> Matches:
    return matches.where((matches.look >= looks[0]) & (matches.look <= looks[-1]))


def _chunks(looks: IntArray, costs: IntArray, most: int) -> Iterator[IntArray]:
    """Looks that follow one another and cost as much at most, or one that costs more.

    >>> [chunk.tolist() for chunk in _chunks(np.arange(4), np.array([3, 3, 9, 1]), 6)]
    [[0, 1], [2], [3]]
    """
    before, first = np.concatenate([[0], np.cumsum(costs)]), 0
    while first < len(looks):
        last = int(np.searchsorted(before, before[first] + most, side="right")) - 1
        last = max(first + 1, last)
        yield looks[first:last]
        first = last
