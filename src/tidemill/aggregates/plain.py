"""Spark's order of values in plain Python, for the slow twins of lanes and aggregates.

>>> least(float("nan"), 2.0), greatest(float("nan"), 2.0)
(2.0, nan)
>>> outermost([(5, "b"), (3, "z"), (5, "a")], is_last=True)
'b'
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any


def sort_key(value: Any) -> tuple[Any, ...]:
    """The sort key of values: NULL below all, NaN above all numbers, text by its bytes."""
    if value is None:
        return (-1, 0)
    if isinstance(value, float) and value != value:
        return (1, 0)
    return (0, value.encode() if isinstance(value, str) else value)


def least(left: Any, right: Any) -> Any:
    """The smaller of two values."""
    return left if sort_key(left) <= sort_key(right) else right


def greatest(left: Any, right: Any) -> Any:
    return left if sort_key(left) >= sort_key(right) else right


def outermost(pairs: Sequence[tuple[int, Any]], is_last: bool) -> Any:
    """The value of the first or last time; of several at that time the least or greatest."""
    pick, choose = (max, greatest) if is_last else (min, least)
    at = pick(time for time, _ in pairs)
    return reduce(choose, [value for time, value in pairs if time == at])


def unsigned_zero(value: Any) -> Any:
    """A float without the sign of its zero; anything else as it is."""
    return value + 0.0 if isinstance(value, float) else value
