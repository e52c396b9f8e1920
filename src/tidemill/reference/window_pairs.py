"""The plain join of windows, row by row: what comes and goes at every instant of event time.

A row lives from its time until its window has passed it, a result while all of its rows live.

>>> left, right = SideOfPairs(10, (("k", 0, "a"),)), SideOfPairs(5, (("k", 7, "b"),))
>>> list(pairs_that_come([left, right]))
[Pairing(from_us=7, until_us=10, rows=('a', 'b'))]
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

RowUnderKey = tuple[Hashable, float, Hashable]
"""The key of a row (None: it meets nobody), its time, and what it is known by."""


@dataclass(frozen=True)
class SideOfPairs:
    range_us: float
    rows: tuple[RowUnderKey, ...]


@dataclass(frozen=True)
class Pairing:
    """A result, and the instants between which it lives."""

    from_us: float
    until_us: float
    rows: tuple[Hashable, ...]


def pairs_that_come(sides: Sequence[SideOfPairs]) -> Iterator[Pairing]:
    """All results, in no order."""
    for rows in product(*(side.rows for side in sides)):
        keys = {key for key, _, _ in rows}
        from_us = max(time_us for _, time_us, _ in rows)
        until_us = min(
            time_us + side.range_us for (_, time_us, _), side in zip(rows, sides, strict=True)
        )
        if len(keys) == 1 and None not in keys and from_us < until_us:
            yield Pairing(from_us, until_us, tuple(name for _, _, name in rows))
