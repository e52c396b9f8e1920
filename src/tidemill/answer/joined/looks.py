"""Looks: what queries see of each side of a join at an instant.

Queries of equal readings share the looks at their common instants (rule CS1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from tidemill.answer.joined.synopsis import JoinedReading
from tidemill.answer.request import Evaluations, WindowRequest
from tidemill.arrays import IntArray


@dataclass(frozen=True)
class Looks:
    """Distinct pairs of a reading and an instant, ascending."""

    readings: tuple[JoinedReading, ...]
    reading: IntArray  # by look, which of them
    ends: IntArray  # by look, the instant: windows of all sides end there

    def __len__(self) -> int:
        return len(self.ends)

    def of_readings(self, numbers: Sequence[int]) -> IntArray:
        """The looks of some readings."""
        return np.flatnonzero(np.isin(self.reading, numbers))

    def at(self, looks: IntArray) -> Looks:
        """Some of the looks, with no readings but theirs."""
        numbers, reading = np.unique(self.reading[looks], return_inverse=True)
        readings = tuple(self.readings[number] for number in numbers.tolist())
        return Looks(readings, reading.ravel(), self.ends[looks])


def looks_of(several: Sequence[Evaluations]) -> tuple[Looks, list[IntArray]]:
    """The distinct looks of all windows, and of each of them the look."""
    numbers: dict[JoinedReading, int] = {}
    reading_of = [np.zeros(0, np.int64)]
    for asked in several:
        readings = cast(tuple[JoinedReading, ...], asked.readings)
        number = [numbers.setdefault(reading, len(numbers)) for reading in readings]
        reading_of.append(np.array(number, np.int64)[asked.reading])
    ends, end = np.unique(np.concatenate([asked.ends for asked in several]), return_inverse=True)
    codes = np.concatenate(reading_of) * len(ends) + end.ravel()
    distinct, look = np.unique(codes, return_inverse=True)
    reading, end = np.divmod(distinct, max(1, len(ends)))
    bounds = np.cumsum([len(asked) for asked in several])[:-1]
    return Looks(tuple(numbers), reading, ends[end]), np.split(look.ravel(), bounds)


def span_of_sides(requests: Sequence[WindowRequest]) -> tuple[int, int]:
    """The times between which all windows of all sides lie."""
    asked = [request for request in requests if len(request.ends)]
    lows = [
        int(request.ends.min()) - max(cast(JoinedReading, reading).ranges_us)
        for request in asked
        for reading in request.batch.readings
    ]
    return min(lows, default=0), max((int(r.ends.max()) for r in asked), default=0)
