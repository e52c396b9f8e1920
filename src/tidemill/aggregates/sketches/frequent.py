"""The most frequent values, each with how often it is there.

Bounds are certain: a value is there between `low` and `high` times, and no value that is left
out was there more often than the error allows. Sketches of Spark, of the library's frequent
items, are read into the same form. As long as every value has a place, counts are exact.

>>> family = Items(10, of_text=True)
>>> made = family.make(["a", "b", "c"], [1, 3, 1])
>>> sorted(zip(made.values, made.counts.tolist())), made.missed
([('a', 1), ('b', 3), ('c', 1)], 0)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import datasketches

from tidemill.aggregates.sketches import counts
from tidemill.aggregates.sketches.base import CountSketchLane, State
from tidemill.aggregates.sketches.counts import Tally
from tidemill.aggregates.sketches.keys import SketchKey, is_text_key

Item = tuple[SketchKey, int, int, int]  # value, count, low, high
_ALL = datasketches.frequent_items_error_type.NO_FALSE_NEGATIVES
_LONGS = datasketches.PyLongsSerDe()


_ERROR_FACTOR, _FILL = 3.5, 0.75


def items_log_size(error: float, items: int) -> int:
    """A table that errs by no more, and has room for what is asked for."""
    return math.ceil(math.log2(max(_ERROR_FACTOR / error, items / _FILL, 8)))


def items_room(log_size: int) -> int:
    """The number of values that a table holds before it drops any."""
    return int(_FILL * 2**log_size)


@dataclass(frozen=True)
class Items:
    """As many values as a table of 2^log_size places has room for."""

    log_size: int
    of_text: bool

    def make(self, keys: Sequence[SketchKey], often: Sequence[int]) -> State:
        return counts.cut(counts.counted(keys, often), items_room(self.log_size))

    def merged(self, states: Sequence[State]) -> State:
        whole = counts.added([self.read(state) for state in states])
        return counts.cut(whole, items_room(self.log_size))

    def scaled(self, state: State, weight: int) -> State:
        return counts.scaled(self.read(state), weight)

    def to_bytes(self, state: State) -> bytes:
        return state if isinstance(state, bytes) else counts.to_bytes(state)

    def read(self, state: State) -> Tally:
        if isinstance(state, Tally):
            return state
        return counts.from_bytes(state) if counts.is_counts(state) else self._of_spark(state)

    def _of_spark(self, state: bytes) -> Tally:
        if self.of_text:
            sketch = datasketches.frequent_strings_sketch.deserialize(state)
        else:
            sketch = datasketches.frequent_items_sketch.deserialize(state, _LONGS)
        items: list[Item] = sketch.get_frequent_items(_ALL, 0)
        exact = counts.counted([item[0] for item in items], [item[2] for item in items])
        # How far apart the bounds are is the same for any value.
        any_value = "" if self.of_text else 0
        missed = int(sketch.get_upper_bound(any_value) - sketch.get_lower_bound(any_value))
        return replace(exact, missed=missed)


class ItemsLane(CountSketchLane):
    """As many values as a table of 2^size places has room for."""

    kind: ClassVar[str] = "items"

    @property
    def family(self) -> Items:
        return Items(self.size, is_text_key(self.type))

    def _aggregate_sql(self, value: str) -> str | None:
        key, room = self._key_sql(value), items_room(self.size)
        return None if key is None else f"APPROX_TOP_K_ACCUMULATE({key}, {room}).sketch"
