"""The instants that queries wait for: time has to come so far before anything is answered.

>>> from tidemill.windows import WindowSpec
>>> specs = Specs.of([WindowSpec(8, 5), WindowSpec(3, 9)])
>>> next_windows(specs, first_open(specs, np.array([13, 13])), np.array([5, 12, 28]))
[NextWindow(end_us=18, row_us=12), NextWindow(end_us=30, row_us=28)]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tidemill.arrays import IntArray
from tidemill.schedule.due import Specs


class NextWindow(NamedTuple):
    """The end of a window with rows, and the start of the first slice that it has."""

    end_us: int
    row_us: int


def first_open(specs: Specs, closed_us: IntArray) -> IntArray:
    """For each spec the number of the first window that is asked for after its instant."""
    return specs.last_due_by(closed_us) + 1


def next_windows(specs: Specs, first: IntArray, slices: IntArray) -> list[NextWindow | None]:
    """For each spec the first window with rows, from the one with this number on.

    `slices` are the starts of those that hold rows, in order, cut at the edges of all windows.
    """
    if not len(slices):
        return [None] * len(specs.specs)
    number, row_us = _first_with_rows(specs, first, slices)
    starts = specs.start_us + number * specs.slide_us
    return [
        NextWindow(end_us, row) if start <= row else None
        for start, end_us, row in zip(
            starts.tolist(), (starts + specs.range_us).tolist(), row_us.tolist(), strict=True
        )
    ]


def _first_with_rows(specs: Specs, first: IntArray, slices: IntArray) -> tuple[IntArray, IntArray]:
    """The numbers of the windows, and the slices: before the window if there are none in it."""
    number = first
    while True:
        starts = specs.start_us + number * specs.slide_us
        place = np.searchsorted(slices, starts)
        row_us = slices[np.minimum(place, len(slices) - 1)]
        # A slice may lie behind the window, in later ones or in a gap between two.
        later = np.where(place < len(slices), specs.last_ending_by(row_us) + 1, number)
        if (later <= number).all():
            return number, row_us
        number = np.maximum(number, later)
