"""Compiled loops over rows that lie sorted by key and time."""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled


@compiled
def order_by_code(codes: Array, first: Array) -> Array:
    """The places of the codes in ascending order, equal ones as they come; `first` has where each
    code begins, and the number of all at its end."""
    following = first.copy()
    order = np.empty(len(codes), np.int32)
    for place in range(len(codes)):
        code = codes[place]
        order[following[code]] = place
        following[code] += 1
    return order


@compiled
def count_before(times_us: Array, by_time: Array, until_us: int) -> int:
    """How many rows are from before a time; `by_time` has their places in order of time."""
    low, high = 0, len(by_time)
    while low < high:
        middle = (low + high) >> 1
        if times_us[by_time[middle]] < until_us:
            low = middle + 1
        else:
            high = middle
    return low
