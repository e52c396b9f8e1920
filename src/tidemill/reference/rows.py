"""Queries without a window, row by row: which rows count, and which leave with each tick.

>>> ticks = [[(1, "a"), (5, "b")], [(4, "c"), (2, "late"), (9, "d")]]
>>> [tick.in_order for tick in leaving_rows(ticks, lateness_us=2)]
[['a'], ['c', 'b']]
>>> leaving_rows(ticks, lateness_us=2)[-1].waiting
['d']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# A time and whatever else there is of a row.
TimedRow = tuple[int, Any]


@dataclass(frozen=True)
class LeavingRows:
    """The rows that leave with a tick, by either rule, and those that wait after it."""

    at_once: list[Any]
    in_order: list[Any]
    waiting: list[Any]
    late: int


def leaving_rows(ticks: Sequence[Sequence[TimedRow]], lateness_us: int) -> list[LeavingRows]:
    """Rows before the watermark of the ticks before are late; the others count."""
    watermark_us, newest_us, waiting = None, None, list[TimedRow]()
    left = []
    for rows in ticks:
        counted = [row for row in rows if watermark_us is None or row[0] >= watermark_us]
        newest_us = max((t for t, _ in counted), default=newest_us)
        watermark_us = _latest(watermark_us, newest_us, lateness_us)
        waiting = sorted([*waiting, *counted], key=lambda row: row[0])  # stable: as they came
        in_order = [row for row in waiting if watermark_us is not None and row[0] < watermark_us]
        waiting = waiting[len(in_order) :]
        late = len(rows) - len(counted)
        left.append(LeavingRows(_values(counted), _values(in_order), _values(waiting), late))
    return left


def _latest(watermark_us: int | None, newest_us: int | None, lateness_us: int) -> int | None:
    marks = [watermark_us, None if newest_us is None else newest_us - lateness_us]
    return max((mark for mark in marks if mark is not None), default=None)


def _values(rows: Sequence[TimedRow]) -> list[Any]:
    return [value for _, value in rows]
