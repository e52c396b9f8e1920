"""Cells of the join, look by look: the sides' windows matched by key, term by term.

Looks are taken in chunks, so that what is in memory is bounded by one of them or by a constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tidemill.aggregates.numbering import Digit, number_rows
from tidemill.answer.joined.crossing import Crossed, combined_lane
from tidemill.answer.joined.folds import SideGroups
from tidemill.answer.joined.inputs import JoinedLanes, SideCells, SideWindows
from tidemill.answer.joined.keys import code_key, named_groups, number_keys
from tidemill.answer.joined.sides import Side
from tidemill.answer.joined.terms import Matches, Names, SideView, match
from tidemill.arrays import IntArray
from tidemill.plan.window_join import WindowJoin
from tidemill.state.cells import Cells

# Cells of sides that a chunk of looks reads, and rows of sides that it puts side by side.
MOST_ROWS = 2**21


def joined_cells(
    join: WindowJoin,
    lanes: JoinedLanes,
    sides: Sequence[SideCells],
    windows: Sequence[SideWindows],
) -> Iterator[Cells]:
    """Cells whose slices are the numbers of looks; those of each chunk by themselves.

    `windows` has by side the window at each look. A look without rows has no cells.
    """
    kernel = _Kernel(join, lanes, sides, windows)
    for looks in _chunks(np.arange(len(windows[0])), kernel.costs, MOST_ROWS):
        yield from kernel.cells(looks)


class _Kernel:
    def __init__(
        self,
        join: WindowJoin,
        lanes: JoinedLanes,
        sides: Sequence[SideCells],
        windows: Sequence[SideWindows],
    ) -> None:
        self._join, self._lanes, self._inputs = join, lanes, sides
        self._sides = [Side(side, mine) for side, mine in zip(sides, windows, strict=True)]
        groups = [side.cells.groups for side in sides]
        self._keys = number_keys(join.key, groups, [side.cells.group_count for side in sides])
        self._query_keys = [
            code_key(kind, places, groups)
            for kind, places in zip(lanes.keys, join.groups, strict=True)
        ]
        self._groups = [
            SideGroups.of(side.cells, number, len(join.key), of_join.flags)
            for side, number, of_join in zip(sides, self._keys.numbers, join.sides, strict=True)
        ]

    @property
    def costs(self) -> IntArray:
        """By look, the cells that all sides read."""
        costs: IntArray = np.sum([side.sizes[side.window] for side in self._sides], axis=0)
        return costs

    def cells(self, looks: IntArray) -> Iterator[Cells]:
        """The cells of some looks that follow one another."""
        views = [self._view(number, looks) for number in range(len(self._sides))]
        matches = [
            match(term, self._named(term.sides), views, looks, self._keys)
            for term in self._join.terms
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
        groups = self._groups[number]
        return SideView(self._inputs[number], groups, rows, side.window, self._keys.count)

    def _named(self, sides: Sequence[int]) -> Sequence[Names]:
        """By side, the keys of the query whose values a term with such sides has from there."""
        named: list[dict[int, Digit]] = [{} for _ in self._sides]
        for number, (key, places) in enumerate(
            zip(self._query_keys, self._join.groups, strict=True)
        ):
            place = next((place for place in places if place.side in sides), None)
            if place is not None:
                named[place.side][number] = key.digit(key.codes[place])
        return named

    def _cells(self, crossed: Sequence[Crossed], looks: IntArray) -> Cells:
        """The rows of all terms combined by look and group of the query."""
        look = np.concatenate([looks[:0], *(term.look for term in crossed)]) - looks[0]
        keys = list(zip(self._query_keys, self._join.groups, strict=True))
        codes = [
            np.concatenate([looks[:0], *(term.codes(key, places) for term in crossed)])
            for key, places in keys
        ]
        digits = [key.digit(code) for (key, _), code in zip(keys, codes, strict=True)]
        groups = number_rows(digits, len(look))
        group = Digit(groups.ids, max(1, groups.count))
        numbered = number_rows([group, Digit(look, len(looks))], len(look))
        lanes = zip(self._lanes.lanes, self._lanes.places, strict=True)
        return Cells(
            slices=looks,
            slice_index=look[numbered.rows],
            group=groups.ids[numbered.rows],
            groups=named_groups(self._query_keys, [code[groups.rows] for code in codes]),
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
