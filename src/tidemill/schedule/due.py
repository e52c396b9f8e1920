"""Strict periods: every window that the watermark has passed is due, once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidemill.windows import EdgeClass, WindowSpec, closed_windows, horizon, slice_ends

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Due:
    """A query and the starts of its windows to answer now."""

    query: str
    starts: tuple[int, ...]


def due_windows(
    spec: WindowSpec,
    classes: tuple[EdgeClass, ...],
    slices: IntArray,
    after_us: int | None,
    until_us: int,
    first_start_us: int | None = None,
) -> IntArray:
    """Starts of the windows with rows that end in `(after_us, until_us]`.

    Windows that begin before `first_start_us` are left out: the query was not there to
    see all of their rows.
    """
    starts = closed_windows(spec, slices, slice_ends(slices, classes), after_us, until_us)
    return starts if first_start_us is None else starts[starts >= first_start_us]


def oldest_needed(specs: Iterable[WindowSpec], watermark_us: int) -> int:
    """Slices that start before this serve no window that is still open."""
    return min(horizon(spec, watermark_us) for spec in specs)
