"""Counts of values as they are, while there are few: what sketches of counts begin as."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from tidemill.aggregates.sketches.base import State
from tidemill.plan.aggregates.keys import Key

Tally = dict[Key, int]


class Tallied(ABC):
    """A state is a tally while it has room, then a sketch of the library, or bytes of either."""

    @property
    @abstractmethod
    def room(self) -> int:
        """How many values are counted one by one."""

    @abstractmethod
    def sketch(self, tally: Tally) -> Any:
        """A new sketch of all that was counted."""

    @abstractmethod
    def parsed(self, state: bytes) -> Any:
        """The sketch, or the tally that is as good, of the library's bytes."""

    @abstractmethod
    def written(self, sketch: Any) -> bytes: ...

    def make(self, keys: Sequence[Key], counts: Sequence[int]) -> State:
        return self._bounded(dict(zip(keys, counts, strict=True)))

    def merged(self, states: Sequence[State]) -> State:
        read = [self.read(state) for state in states]
        tally = added(state for state in read if isinstance(state, dict))
        sketches = [state for state in read if not isinstance(state, dict)]
        if not sketches:
            return self._bounded(tally)
        union = self.sketch(tally)
        for sketch in sketches:
            union.merge(sketch)
        return union

    def read(self, state: State) -> Any:
        if not isinstance(state, bytes):
            return state
        # So every pickle begins, and no sketch of the library.
        return pickle.loads(state) if state[:1] == pickle.PROTO else self.parsed(state)

    def to_bytes(self, state: State) -> bytes:
        if isinstance(state, bytes):
            return state
        return pickle.dumps(state, protocol=5) if isinstance(state, dict) else self.written(state)

    def _bounded(self, tally: Tally) -> State:
        return tally if len(tally) <= self.room else self.sketch(tally)


def added(tallies: Iterable[Tally]) -> Tally:
    """
    >>> added([{"a": 1, "b": 2}, {"a": 3}])
    {'a': 4, 'b': 2}
    """
    total: Tally = {}
    for tally in tallies:
        if not total:
            total = tally.copy()
            continue
        for key, count in tally.items():
            total[key] = total.get(key, 0) + count
    return total
