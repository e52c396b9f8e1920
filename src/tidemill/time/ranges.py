"""A range of event time, by which the rows of a recording come bit by bit.

>>> first = TimeRange("ts", 10, 20, takes_untimed=True)
>>> first.meets(0, 9), first.meets(0, 10), first.meets(19, 30), first.meets(20, 30)
(False, True, True, False)
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TimeRange:
    """Rows from one time up to, not including, another, by a column.

    Rows that have no time come with the first range of several: somebody must count them.
    """

    column: str
    low_us: int
    high_us: int
    takes_untimed: bool = False

    def meets(self, oldest_us: int, newest_us: int) -> bool:
        """True if some of rows between these times may be in the range."""
        return oldest_us < self.high_us and self.low_us <= newest_us
