"""How often a value is there, by a count-min sketch.

What it tells is never too little, and too much by more than e / width of all rows 7 times in
1,000 at most. As long as there are no more values than a row of the sketch has counters, they
are counted one by one.

>>> CountMin(272).counted(CountMin(272).make(["a", "b"], [3, 1]), "a")
(3, 3, 3)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import datasketches

from tidemill.aggregates.sketches.base import State
from tidemill.aggregates.sketches.tallies import Tallied, Tally
from tidemill.plan.aggregates.keys import Key
from tidemill.plan.aggregates.sketches import COUNT_MIN_ROWS


@dataclass(frozen=True)
class CountMin(Tallied):
    """So many counters wide."""

    width: int

    @property
    def room(self) -> int:
        return self.width

    def counted(self, state: State, key: Key) -> tuple[int, int, int]:
        """The estimate, and its bounds; the upper one, which is the estimate, is certain."""
        found = self.read(state)
        if isinstance(found, dict):
            count = found.get(key, 0)
            return count, count, count
        high = int(found.get_estimate(key))
        excess = math.ceil(math.e / self.width * found.total_weight)
        return high, max(0, high - excess), high

    def sketch(self, tally: Tally) -> Any:
        sketch = datasketches.count_min_sketch(COUNT_MIN_ROWS, self.width)
        for key, count in tally.items():
            sketch.update(key, count)
        return sketch

    def parsed(self, state: bytes) -> Any:
        return datasketches.count_min_sketch.deserialize(state)

    def written(self, sketch: Any) -> bytes:
        return bytes(sketch.serialize())
