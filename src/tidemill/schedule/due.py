"""Strict periods: every window that the watermark has passed is due, once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidemill.windows import WindowSpec, closed_windows, horizon

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Due:
    """A query and the starts of its windows of one length to answer now, from one synopsis."""

    query: str
    synopsis: str
    range_us: int
    starts: tuple[int, ...]


def due_windows(
    spec: WindowSpec,
    slices: IntArray,
    slice_ends: IntArray,
    after_us: int | None,
    until_us: int,
) -> IntArray:
    """Starts of the windows with rows that end in `(after_us, until_us]`."""
    return closed_windows(spec, slices, slice_ends, after_us, until_us)


def oldest_needed(specs: Iterable[WindowSpec], watermark_us: int) -> int:
    """Slices that start before this serve no window that is still open."""
    return min(horizon(spec, watermark_us) for spec in specs)
