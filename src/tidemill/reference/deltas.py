"""ISTREAM and DSTREAM in the plainest way: row by row, window by window.

>>> answers = [(0, 10, ("a",)), (0, 10, ("b",)), (5, 15, ("b",)), (5, 15, ("b",))]
>>> came, went = differences(answers, slide_us=5, equal=lambda left, right: left == right)
>>> came
[(0, 10, ('a',)), (0, 10, ('b',)), (5, 15, ('b',))]
>>> went
[(5, 15, ('a',)), (10, 20, ('b',)), (10, 20, ('b',))]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Answer = tuple[int, int, tuple[Any, ...]]
Equal = Callable[[tuple[Any, ...], tuple[Any, ...]], bool]


def differences(
    answers: Iterable[Answer], slide_us: int, equal: Equal
) -> tuple[list[Answer], list[Answer]]:
    """Of all answers of a query, the rows that each window has and the one before had not, and
    those that it has not and the one before had."""
    rows: dict[tuple[int, int], list[tuple[Any, ...]]] = {}
    for start, end, row in answers:
        rows.setdefault((start, end), []).append(row)
    later = {(start + slide_us, end + slide_us) for start, end in rows}
    came, went = list[Answer](), list[Answer]()
    for start, end in sorted({*rows, *later}):
        now, before = rows.get((start, end), []), rows.get((start - slide_us, end - slide_us), [])
        came += [(start, end, row) for row in _less(now, before, equal)]
        went += [(start, end, row) for row in _less(before, now, equal)]
    return came, went


def _less(
    rows: Sequence[tuple[Any, ...]], others: Sequence[tuple[Any, ...]], equal: Equal
) -> list[tuple[Any, ...]]:
    """The rows, but for one for each of the others that is equal."""
    left, rest = list(others), list[tuple[Any, ...]]()
    for row in rows:
        place = next((n for n, other in enumerate(left) if equal(row, other)), None)
        if place is None:
            rest.append(row)
        else:
            del left[place]
    return rest
