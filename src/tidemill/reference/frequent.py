"""FREQUENT as it is told: lists of sub-windows, one after the other, put together in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tidemill.language.durations import parse_duration
from tidemill.plan.query import AggregateCall

Found = tuple[int, list[tuple[Any, int, int]]]


def frequent(subwindows: Sequence[Mapping[Any, int]], most: int) -> Found:
    """The threshold, and the values above it with bounds of their counts.

    >>> frequent([{"a": 5, "b": 3}, {"a": 4, "c": 1}], most=2)
    (4, [('a', 9, 9)])
    """
    delta, held, listed = 0, Counter[Any](), Counter[Any]()
    for counts in subwindows:
        order = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
        own = order[-1][1] if len(order) == most else 0
        delta += own
        for value, count in order:
            held[value] += count
            listed[value] += own
    above = [(v, n, n + delta - listed[v]) for v, n in held.items() if n > delta]
    return delta, sorted(above, key=lambda one: (-one[1], one[0]))


def frequent_rows(
    call: AggregateCall, pairs: Sequence[tuple[int, Any]], start_us: int
) -> list[dict[str, Any]] | int | None:
    """The answer of a call over (time, value) of a window that begins then."""
    most, length = call.parameters
    assert isinstance(most, int)
    assert isinstance(length, str)
    subwindows: dict[int, Counter[Any]] = {}
    for time_us, value in pairs:
        number = (time_us - start_us) // parse_duration(length)
        subwindows.setdefault(number, Counter())[_ordered(value)] += 1
    delta, above = frequent(list(subwindows.values()), most)
    if call.part == "delta":
        return delta
    if not pairs:
        return None
    return [{"value": v[1], "low": low, "high": high} for v, low, high in above]


def _ordered(value: Any) -> Any:
    """Sorted by bytes if it is text; the value itself behind what it is sorted by."""
    return (value.encode() if isinstance(value, str) else value, value)
