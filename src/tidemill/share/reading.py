"""How often ticks come back to a cell: by the windows that are read off it, and by how long a
tick is.

A tick reads every slice from the start of the earliest window that is due to the end of the
latest one, once for all of them. So a synopsis is read as far back as its longest window reaches,
as often as that one is due, and each of its cells costs as often as it lies in such a span.

>>> second = 1_000_000
>>> minute = WindowSpec(60 * second, 10 * second)
>>> reads_per_cell([minute], tick_seconds=40.0), reads_per_cell([minute], tick_seconds=5.0)
(2.25, 6.0)
>>> reads_per_cell([minute, WindowSpec(5 * second, 5 * second)], tick_seconds=5.0)
6.5
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tidemill.windows import WindowSpec

_US_PER_SECOND = 1_000_000


def reads_per_cell(windows: Iterable[WindowSpec], tick_seconds: float) -> float:
    """The mean number of ticks that read a cell before it expires.

    Windows that end together are due together; those of other slides are taken to be due by
    chance, so that the longest that happens to be due tells how far back a tick reads.
    """
    spans = _spans_us(windows)
    if not spans:
        return 0.0
    tick_us = tick_seconds * _US_PER_SECOND
    slides = np.array([slide for slide, _ in spans], np.float64)
    # Of windows that are due several times in a tick, the first began that much earlier.
    reach = np.array([*spans.values()], np.float64) + np.maximum(0.0, tick_us - slides)
    order = np.argsort(-reach, kind="stable")
    is_due = np.minimum(1.0, tick_us / slides)[order]
    is_longest = is_due * np.concatenate([[1.0], np.cumprod(1 - is_due)[:-1]])
    return float((reach[order] * is_longest).sum() / tick_us)


def longest_seconds(windows: Iterable[WindowSpec]) -> float:
    """How long a cell is kept: as long as the longest window."""
    return max((window.range_us for window in windows), default=0) / _US_PER_SECOND


def _spans_us(windows: Iterable[WindowSpec]) -> dict[tuple[int, int], int]:
    """The longest range of the windows that end together, by slide and end."""
    longest: dict[tuple[int, int], int] = {}
    for window in windows:
        slide_us = window.slide_us
        ends = slide_us, (window.start_us + window.range_us) % slide_us
        longest[ends] = max(longest.get(ends, 0), window.range_us)
    return longest
