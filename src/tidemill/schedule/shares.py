"""Chooses the stream to serve next, where several share one machine by weight.

Every stream has a clock of its own that runs by seconds of machine over weight, and the one
whose clock shows least is served. A stream without work does not save up credit: when it comes
back, its clock is put forward to that of the one served last.

>>> shares = Shares()
>>> served = ""
>>> for _ in range(9):
...     name = shares.next({"heavy": 2.0, "light": 1.0})
...     shares = shares.after(name, seconds=1.0, weight=2.0 if name == "heavy" else 1.0)
...     served += name[0]
>>> served
'hlhhlhhlh'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shares:
    """The clock of each stream, and the time that of the stream served last had before."""

    clocks: Mapping[str, float] = field(default_factory=dict)
    now: float = 0.0

    def next(self, waiting: Mapping[str, float]) -> str | None:
        """Of the streams that have work waiting, by name with their weights, the one to serve.

        Of equals the heavier goes first, then by name.
        """
        return min(waiting, key=lambda n: (self.clock(n), -waiting[n], n), default=None)

    def after(self, name: str, seconds: float, weight: float) -> Shares:
        """The stream has used so many seconds."""
        start = self.clock(name)
        return Shares({**self.clocks, name: start + seconds / weight}, max(self.now, start))

    def without(self, name: str) -> Shares:
        """The stream is gone; one of the same name begins anew."""
        return Shares({n: shown for n, shown in self.clocks.items() if n != name}, self.now)

    def clock(self, name: str) -> float:
        return max(self.now, self.clocks.get(name, self.now))
