"""What travels along the arcs of a query graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Older than any time: what a register says before anything came.
NEVER_US = -(2**63)


@dataclass(frozen=True, slots=True)
class GraphItem:
    """A tuple; or a punctuation, the promise that nothing older than it follows.

    `arrived_us` is when the last input that the tuple was made from had arrived: its latency is
    counted from there.
    """

    time_us: int
    arrived_us: int
    value: Any = None
    is_data: bool = True


def punctuation(time_us: int) -> GraphItem:
    return GraphItem(time_us, time_us, is_data=False)
