"""Queues between operators, and the inputs that read them.

>>> buffer = Buffer(readers=2)
>>> buffer.append("a"), buffer.append("b")
(None, None)
>>> buffer.take(0), buffer.take(0), len(buffer)
('a', 'b', 2)
>>> buffer.take(1), len(buffer)
('a', 1)
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from tidemill.reference.graph.items import NEVER_US, GraphItem


class Buffer:
    """A queue with a pointer for each branch that reads it.

    What all branches have passed is deleted; a fork stores its tuples once.
    """

    def __init__(self, readers: int = 1) -> None:
        self._items: deque[Any] = deque()
        self._first = 0  # how many items were deleted
        self._pointers = [0] * readers

    def __len__(self) -> int:
        return len(self._items)

    def append(self, item: Any) -> None:
        self._items.append(item)

    def head(self, reader: int) -> Any:
        """The next item of this branch, or None."""
        at = self._pointers[reader] - self._first
        return self._items[at] if at < len(self._items) else None

    def take(self, reader: int) -> Any:
        item = self._items[self._pointers[reader] - self._first]
        self._pointers[reader] += 1
        while self._first < min(self._pointers):
            self._items.popleft()
            self._first += 1
        return item


@dataclass
class Intake:
    """One input of an operator, with its register: the newest time it was told of.

    The register outlives the tuple that set it. That is what lets simultaneous tuples leave at
    once (the relaxed-more rule).
    """

    buffer: Buffer
    reader: int
    register_us: int = field(default=NEVER_US)

    def head(self) -> GraphItem | None:
        item: GraphItem | None = self.buffer.head(self.reader)
        return item

    def low_us(self) -> int:
        """No older tuple will come from here. The head always wins over what was promised."""
        item = self.head()
        return self.register_us if item is None else item.time_us

    def take(self) -> GraphItem:
        item: GraphItem = self.buffer.take(self.reader)
        self.register_us = item.time_us
        return item

    def promise(self, time_us: int) -> None:
        """Set the register without an item; only an input whose buffer is empty may be told."""
        assert self.head() is None
        self.register_us = max(self.register_us, time_us)
