"""The rows of each term side by side, and the lanes of their joins: scaled, then combined.

A row here stands for all rows of the join that a row of each side makes with those of the
others. So a lane of one side is scaled by how many rows the others have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from tidemill.aggregates import Lane, LaneArray, concatenated
from tidemill.answer.joined.keys import QueryKey
from tidemill.answer.joined.terms import Matches
from tidemill.arrays import IntArray
from tidemill.plan.window_join import SidePlace


@dataclass(frozen=True)
class Crossed:
    """Rows of a term: each has a look, and a row of every side that the term reads."""

    matches: Matches
    look: IntArray
    rows: tuple[IntArray, ...]  # by side of the term, places in its fold

    def __len__(self) -> int:
        return len(self.look)

    @staticmethod
    def of(matches: Matches) -> Crossed:
        sizes = matches.sizes
        if len(sizes) == int(sizes.sum()):
            rows = [f.run_first[run] for f, run in zip(matches.folds, matches.runs, strict=True)]
            return Crossed(matches, matches.look, tuple(rows))
        match = np.repeat(np.arange(len(sizes)), sizes)
        number = np.arange(len(match)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = []
        for fold, run in zip(matches.folds, matches.runs, strict=True):
            of_run = run[match]
            number, within = np.divmod(number, fold.run_sizes[of_run])
            rows.append(fold.run_first[of_run] + within)
        return Crossed(matches, matches.look[match], tuple(rows))

    def lane(self, side: int | None, source: SidePlace | None) -> LaneArray:
        """A lane of a side, not scaled; without a source it counts the rows of the side."""
        assert side is not None
        number = self.matches.term.sides.index(side)
        rows = self.matches.folds[number].rows
        place = rows.rows_place if source is None else source.place
        return rows.lanes[place].take(self.rows[number])

    def codes(self, key: QueryKey) -> IntArray:
        """The values of a key: those of the first of its places whose side gives rows."""
        sides = self.matches.term.sides
        place = key.place(sides)
        if place is None:
            return np.full(len(self), key.absent)
        number = sides.index(place.side)
        group = self.matches.folds[number].rows.group[self.rows[number]]
        return key.codes[place][group]

    def weights(self, side: int | None) -> list[IntArray]:
        """How many rows the other sides have, a factor for each of them."""
        folds = zip(self.matches.term.sides, self.matches.folds, self.rows, strict=True)
        return [fold.rows.counts[rows] for other, fold, rows in folds if other != side]


def combined_lane(
    lane: Lane, source: SidePlace | None, crossed: Sequence[Crossed], ids: IntArray, count: int
) -> LaneArray:
    """One lane of the join at the cells `ids`, of so many, which are by row of all terms.

    Its source is a lane of a side; None: it counts the rows of the join.
    """
    sides = [_reads(term, source) for term in crossed]
    places = np.split(ids, np.cumsum([len(term) for term in crossed])[:-1])
    read = [n for n, side in enumerate(sides) if side is not None]
    rows = [_scaled(lane, source, [crossed[n] for n in read])] if read else []
    place = [places[n] for n in read]
    without = [places[n] for n, side in enumerate(sides) if side is None]
    if without:
        # Where a side has no rows at all there is nothing of its lanes.
        place += [np.unique(np.concatenate(without))]
        rows += [lane.nothing(len(place[-1]))]
    return lane.combined(concatenated(rows), np.concatenate(place), count)


def _reads(crossed: Crossed, source: SidePlace | None) -> int | None:
    """The side whose lane is scaled; None if it gives no rows to the term."""
    sides = crossed.matches.term.sides
    if source is None:
        return sides[0]
    return source.side if source.side in sides else None


def _scaled(lane: Lane, source: SidePlace | None, crossed: Sequence[Crossed]) -> LaneArray:
    """The lane of all rows. It is scaled once, so that none of their sums is beyond it."""
    sides = [_reads(term, source) for term in crossed]
    parts = [term.lane(side, source) for term, side in zip(crossed, sides, strict=True)]
    rows = concatenated(parts) if len(parts) > 1 else parts[0]
    factors = [term.weights(side) for term, side in zip(crossed, sides, strict=True)]
    for weights in zip_longest(*factors):
        filled = [
            np.ones(len(term), np.int64) if weight is None else weight
            for term, weight in zip(crossed, weights, strict=True)
        ]
        weight = np.concatenate(filled)
        if (weight != 1).any():
            rows = lane.scaled(rows, weight)
    return rows
