"""A table of the losses of every merge, with the least of each row kept at hand.

A row whose best partner was merged is looked at again only when it might hold the best pair:
until then what it had is a lower bound, for losses with others did not change.
"""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array


class LossTable:
    """Symmetric; a row that was dropped, and a group with itself, lose more than anything."""

    def __init__(self, losses: Array) -> None:
        self._never = np.iinfo(np.int64).max if losses.dtype.kind == "i" else np.inf
        self._losses = losses
        np.fill_diagonal(self._losses, self._never)
        self._partner = losses.argmin(axis=1)
        self._least = losses.min(axis=1)
        self._doubtful = np.zeros(self._least.size, np.bool_)

    def best(self) -> tuple[int, int]:
        """The pair that loses least; of equals the one with the lowest numbers."""
        # The first row that has the least is the lower number of its pair, since the table is
        # symmetric, and its first such column the lowest partner.
        while self._doubtful[row := int(self._least.argmin())]:
            self._look_again(row)
        return row, int(self._partner[row])

    def loss(self, row: int, column: int) -> float:
        value: float = self._losses[row, column].item()
        return value

    def merge(self, into: int, emptied: int, losses: Array) -> None:
        """One row is emptied; `losses` are those of the merged group with every other."""
        losses[self._least == self._never] = self._never
        losses[[into, emptied]] = self._never
        self._losses[into], self._losses[:, into] = losses, losses
        self._losses[emptied], self._losses[:, emptied] = self._never, self._never
        self._doubtful |= (self._partner == into) | (self._partner == emptied)
        self._look_at(into, losses)
        self._look_again(into)
        self._look_again(emptied)

    def _look_again(self, row: int) -> None:
        self._partner[row] = self._losses[row].argmin()
        self._least[row] = self._losses[row, self._partner[row]]
        self._doubtful[row] = False

    def _look_at(self, column: int, losses: Array) -> None:
        """Rows for which the changed column is now the best, or an equal of lower number."""
        closer = losses < self._least
        closer |= (losses == self._least) & (column < self._partner) & (losses < self._never)
        self._least[closer], self._partner[closer] = losses[closer], column
