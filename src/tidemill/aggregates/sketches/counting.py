"""The count of a value, by a count-min sketch.

What it tells is never too little, and too much by more than e / width of all rows 7 times in
1,000 at most. As long as there are no more values than a row of the sketch has counters, they
are counted one by one.

>>> CountMin(272).make(["a", "b"], [3, 1]).count(counts.whole_key("a"))
3
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import datasketches

from tidemill.aggregates.sketches import counts
from tidemill.aggregates.sketches.base import CountSketchLane, State
from tidemill.aggregates.sketches.counts import Tally
from tidemill.aggregates.sketches.keys import SketchKey
from tidemill.aggregates.sketches.read_counts import COUNT_MIN_ROWS, scaled_sketch


def count_min_width(error: float) -> int:
    """The counters in a row of a sketch that errs by no more."""
    return math.ceil(math.e / error)


@dataclass(frozen=True)
class CountMin:
    """Counts of so many values at most, then a sketch so many counters wide."""

    width: int

    def make(self, keys: Sequence[SketchKey], often: Sequence[int]) -> State:
        return self._bounded(counts.counted(list(map(counts.whole_key, keys)), often))

    def merged(self, states: Sequence[State]) -> State:
        read = [self.read(state) for state in states]
        exact = [state for state in read if isinstance(state, Tally)]
        sketches = [state for state in read if not isinstance(state, Tally)]
        if not sketches:
            return self._bounded(counts.added(exact))
        union = self._sketch(exact)
        for sketch in sketches:
            union.merge(sketch)
        return union

    def scaled(self, state: State, weight: int) -> State:
        read = self.read(state)
        if isinstance(read, Tally):
            return counts.scaled(read, weight)
        return scaled_sketch(self.to_bytes(state), weight)

    def to_bytes(self, state: State) -> bytes:
        if isinstance(state, Tally):
            return counts.to_bytes(state)
        return state if isinstance(state, bytes) else bytes(state.serialize())

    def read(self, state: State) -> Any:
        if not isinstance(state, bytes):
            return state
        if counts.is_counts(state):
            return counts.from_bytes(state)
        return datasketches.count_min_sketch.deserialize(state)

    def _bounded(self, exact: Tally) -> State:
        return exact if len(exact.keys) <= self.width else self._sketch([exact])

    def _sketch(self, parts: Sequence[Tally]) -> Any:
        sketch = datasketches.count_min_sketch(COUNT_MIN_ROWS, self.width)
        if parts:
            total = counts.added(parts)
            deque(map(sketch.update, total.keys.tolist(), total.counts.tolist()), maxlen=0)
        return sketch


class CountMinLane(CountSketchLane):
    """Rows of `size` counters; Spark's own count-min sketch has other bytes, so none is used."""

    kind: ClassVar[str] = "countmin"

    @property
    def family(self) -> CountMin:
        return CountMin(self.size)

    def _aggregate_sql(self, value: str) -> str | None:
        return None
