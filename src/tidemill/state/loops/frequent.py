"""Compiled loops for frequent values: the sub-windows of requests, and their lists put together."""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled


@compiled
def part(
    first: Array, last: Array, start_us: Array, window_us: Array, range_us: Array, length_us: int
) -> tuple[Array, Array, Array]:
    """The runs of cells of each request that lie in one sub-window; empty ones have none.

    A window is cut every so long from its start on, and back from its end. Told are where those
    of each request begin, and the bounds of all of them.
    """
    most = 0
    for request in range(len(first)):
        most += last[request] - first[request]
    begin = np.empty(len(first) + 1, np.int64)
    low, high, runs = np.empty(most, np.int64), np.empty(most, np.int64), 0
    for request in range(len(first)):
        begin[request] = runs
        number, rest_us = -2, range_us[request] % length_us
        for cell in range(first[request], last[request]):
            offset_us = start_us[cell] - window_us[request]
            sub_window = offset_us // length_us + (offset_us - rest_us) // length_us
            if sub_window != number:
                low[runs] = cell
                number = sub_window
                runs += 1
            high[runs - 1] = cell + 1
    begin[len(first)] = runs
    return begin, low[:runs].copy(), high[:runs].copy()


@compiled
def together(
    begin: Array,
    lists: Array,
    offsets: Array,
    codes: Array,
    counts: Array,
    most: int,
    size: int,
    room: Array,
    delta: Array,
    values: Array,
    low: Array,
    high: Array,
) -> Array:
    """The sums of the lists of each request's sub-windows, and how many values each reports.

    List l has the entries `offsets[l]:offsets[l + 1]`, the heaviest first. Request r has the
    lists `lists[begin[r]:begin[r + 1]]`, and the places from `room[r]` on. A list of `most`
    values may have left out others as heavy as its last.
    """
    weight, listed = np.zeros(size, np.int64), np.zeros(size, np.int64)
    met, reported = np.empty(size, np.int32), np.zeros(len(begin) - 1, np.int64)
    for request in range(len(begin) - 1):
        count, total = 0, 0
        for at in range(begin[request], begin[request + 1]):
            first, last = offsets[lists[at]], offsets[lists[at] + 1]
            least = counts[last - 1] if last - first == most else 0
            total += least
            for entry in range(first, last):
                code = codes[entry]
                if not weight[code]:
                    met[count] = code
                    count += 1
                weight[code] += counts[entry]
                listed[code] += least
        delta[request] = total
        for place in range(count):
            code = met[place]
            if weight[code] > total:
                to = room[request] + reported[request]
                values[to], low[to] = code, weight[code]
                high[to] = weight[code] + total - listed[code]
                reported[request] += 1
            weight[code] = listed[code] = 0
    return reported
