"""Variance and standard deviation in two passes, first and last by looking at every row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

from tidemill.reference.recalc import greatest, least

# Whether the sample's or the population's, and whether the root is drawn.
SPREADS = {
    "VARIANCE": (1, False),
    "VAR_POP": (0, False),
    "STDDEV": (1, True),
    "STDDEV_POP": (0, True),
}


def spread(function: str, values: Sequence[float]) -> float | None:
    """NULL where there are too few values to divide by; NaN with any value that is not finite."""
    taken_off, is_root = SPREADS[function]
    if len(values) <= taken_off:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    mean = math.fsum(values) / len(values)
    found = math.fsum((value - mean) ** 2 for value in values) / (len(values) - taken_off)
    return math.sqrt(found) if is_root else found


def outermost(function: str, pairs: Sequence[tuple[int, Any]]) -> Any:
    """The value of the first or last time; of several at that time the least or greatest."""
    pick, choose = (min, least) if function == "FIRST" else (max, greatest)
    at = pick(time for time, _ in pairs)
    return reduce(choose, [value for time, value in pairs if time == at])
