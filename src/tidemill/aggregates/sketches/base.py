"""What every sketch can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tidemill.plan.functions.keys import Key

# The bytes of a sketch, as they came from Spark or from a piece, or what was read from them.
# Neither is ever changed.
State = Any


class Family(Protocol):
    """Sketches of one kind and size."""

    def merged(self, states: Sequence[State]) -> State:
        """Of two states or more, a new one."""

    def to_bytes(self, state: State) -> bytes: ...


class OfKeys(Family, Protocol):
    """Sketches of values, for which it makes no difference how they are ordered."""

    def make(self, keys: Sequence[Key], counts: Sequence[int]) -> State:
        """Of distinct values, each with how often it is there."""
