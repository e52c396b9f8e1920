"""The most frequent values, by the library's frequent-items sketch.

Bounds are certain: a value is there between `low` and `high` times, and no value that is left
out was there more often than the error allows, 3.5 / 2^log_size of all rows. As long as every
value has a place, counts are exact.

>>> family = Items(10, of_text=True)
>>> family.items(family.make(["a", "b"], [3, 1]))
[('a', 3, 3, 3), ('b', 1, 1, 1)]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import datasketches

from tidemill.aggregates.sketches.base import State
from tidemill.aggregates.sketches.tallies import Tallied, Tally
from tidemill.plan.aggregates.keys import Key
from tidemill.plan.aggregates.sketches import items_room

Item = tuple[Key, int, int, int]  # value, count, low, high
_ALL = datasketches.frequent_items_error_type.NO_FALSE_NEGATIVES
_LONGS = datasketches.PyLongsSerDe()


@dataclass(frozen=True)
class Items(Tallied):
    """In a table of 2^log_size places."""

    log_size: int
    of_text: bool

    @property
    def room(self) -> int:
        return items_room(self.log_size)

    def items(self, state: State) -> list[Item]:
        """Every value that is known, in no order."""
        found = self.read(state)
        if isinstance(found, dict):
            return [(key, count, count, count) for key, count in found.items()]
        return _items(found)

    def is_exact(self, state: State) -> bool:
        found = self.read(state)
        return isinstance(found, dict) or not self._error(found)

    def sketch(self, tally: Tally) -> Any:
        # Of texts the library has one of its own, whose hashes are the same in every process.
        kind = "frequent_strings_sketch" if self.of_text else "frequent_items_sketch"
        sketch = getattr(datasketches, kind)(self.log_size)
        for key, count in tally.items():
            sketch.update(key, count)
        return sketch

    def parsed(self, state: bytes) -> Any:
        if self.of_text:
            sketch = datasketches.frequent_strings_sketch.deserialize(state)
        else:
            sketch = datasketches.frequent_items_sketch.deserialize(state, _LONGS)
        # Spark makes sketches of the fewest values.
        return sketch if self._error(sketch) else {key: count for key, count, *_ in _items(sketch)}

    def written(self, sketch: Any) -> bytes:
        return bytes(sketch.serialize() if self.of_text else sketch.serialize(_LONGS))

    def _error(self, sketch: Any) -> int:
        """How far apart the bounds are, of any value."""
        some = "" if self.of_text else 0
        return int(sketch.get_upper_bound(some) - sketch.get_lower_bound(some))


def _items(sketch: Any) -> list[Item]:
    found: list[Item] = sketch.get_frequent_items(_ALL, 0)
    return found
