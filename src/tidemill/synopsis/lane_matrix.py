"""Lanes side by side in one matrix, so that rows of all of them are taken and added at once.

Sums and counts of whole numbers are, each NULL mask as a column of its own; others
(minima, maxima, floats) stay by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidemill.aggregates import Encoded, Lane
from tidemill.synopsis.cells import merged_runs, renormalised

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class _Columns:
    """Where a lane lies in the matrix; `valid` is the column that counts its values."""

    values: slice
    valid: int | None
    has_limbs: bool


class LaneMatrix:
    """Lanes of some rows, ready to be combined for many choices of rows."""

    def __init__(self, lanes: Sequence[Lane], encoded: Sequence[Encoded]) -> None:
        self._lanes, self._encoded = tuple(lanes), tuple(encoded)
        self._places: dict[int, _Columns] = {}
        columns: list[IntArray] = []
        for number, (lane, one) in enumerate(zip(lanes, encoded, strict=True)):
            if _adds_whole_numbers(lane, one):
                self._places[number] = _append(columns, one)
        self._matrix = np.stack(columns, axis=1) if columns else np.zeros((0, 0), np.int64)

    def reduced(self, rows: IntArray, first: IntArray) -> tuple[Encoded, ...]:
        """Every lane of the rows, combined in runs that begin at `first`."""
        sums = self._matrix[:0]
        if self._places and len(first):
            sums = np.add.reduceat(self._matrix[rows], first, axis=0)
        return tuple(
            self._of(number, sums)
            if number in self._places
            else merged_runs(self._lanes[number], self._encoded[number].take(rows), first)
            for number in range(len(self._lanes))
        )

    def _of(self, number: int, sums: IntArray) -> Encoded:
        place = self._places[number]
        values = sums[:, place.values]
        valid = None if place.valid is None else sums[:, place.valid] > 0
        return Encoded(renormalised(values) if place.has_limbs else values[:, 0], valid)


def _adds_whole_numbers(lane: Lane, encoded: Encoded) -> bool:
    return lane.algebra.combine is np.add and encoded.values.dtype == np.int64


def _append(columns: list[IntArray], encoded: Encoded) -> _Columns:
    values = encoded.values if encoded.values.ndim == 2 else encoded.values[:, None]
    if encoded.valid is not None:
        values = np.where(encoded.valid[:, None], values, 0)
    first = len(columns)
    columns.extend(values.T)
    place = slice(first, len(columns))
    if encoded.valid is None:
        return _Columns(place, None, encoded.values.ndim == 2)
    columns.append(encoded.valid.astype(np.int64))
    return _Columns(place, len(columns) - 1, encoded.values.ndim == 2)
