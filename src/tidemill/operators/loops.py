"""Compiled loops of the join of windows, over rows that lie sorted by key and time.

A search goes on from where the last one ended, in steps that double. So many new rows are merged
with the rows that they meet, and few new rows are looked up among many.
"""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled


@compiled
def first_at_least(values: Array, low: int, high: int, least: int) -> int:
    """The first place in `[low, high)` whose value is no less; the values ascend."""
    step = 1
    while low + step <= high and values[low + step - 1] < least:
        low += step
        step += step
    high = min(high, low + step - 1)
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def groups_at(first: Array, places: Array) -> Array:
    """The number of the run that each place lies in; both ascend."""
    groups, group = np.empty(len(places), np.int64), 0
    for at in range(len(places)):
        group = first_at_least(first, group + 1, len(first), places[at] + 1) - 1
        groups[at] = group
    return groups


@compiled
def equal_hashes(hashes: Array, others: Array) -> tuple[Array, Array]:
    """Of each hash, where equal ones begin among the others, and where they end; both ascend."""
    lows, highs = np.empty(len(hashes), np.int64), np.empty(len(hashes), np.int64)
    low = high = 0
    for at in range(len(hashes)):
        if at == 0 or hashes[at] != hashes[at - 1]:
            low = first_at_least(others, high, len(others), hashes[at])
            high = low
            while high < len(others) and others[high] == hashes[at]:
                high += 1
        lows[at], highs[at] = low, high
    return lows, highs


@compiled
def find_runs(
    times_us: Array,
    partners: Array,
    low_us: int,
    high_us: int,
    first: Array,
    others_us: Array,
    slots: Array,
    lows: Array,
    highs: Array,
) -> None:
    """Of each driver the run of partners with times in `[time + low_us, time + high_us]`.

    Drivers are sorted by key and time; `partners` has the number of the partners' run under the
    key of each, or -1. Runs are noted at the drivers' slots.
    """
    group, low, high, end = -1, 0, 0, 0
    for at in range(len(times_us)):
        slot = slots[at]
        if partners[at] < 0:
            lows[slot] = highs[slot] = 0
            continue
        if partners[at] != group:
            group = partners[at]
            low = high = first[group]
            end = first[group + 1]
        low = first_at_least(others_us, low, end, times_us[at] + low_us)
        high = first_at_least(others_us, max(low, high), end, times_us[at] + high_us + 1)
        lows[slot], highs[slot] = low, high


@compiled
def count_results(lows: Array, highs: Array, first_runs: Array, sizes: Array, most: int) -> Array:
    """Of each driver the product of what it meets on all sides, or `most` if that is more.

    Side s has the runs `first_runs[s]:first_runs[s + 1]`; `sizes` is given what they hold.
    """
    counts = np.empty(lows.shape[1], np.int64)
    for driver in range(lows.shape[1]):
        count = 1
        for side in range(len(first_runs) - 1):
            size = 0
            for run in range(first_runs[side], first_runs[side + 1]):
                size += highs[run, driver] - lows[run, driver]
            sizes[side, driver] = size
            if size == 0:
                count = 0
            elif count > most // size:
                count = most
            else:
                count *= size
        counts[driver] = count
    return counts


@compiled
def fill_side(
    side: int,
    begin: int,
    end: int,
    ends: Array,
    driver: int,
    sizes: Array,
    lows: Array,
    highs: Array,
    first_runs: Array,
    runs: Array,
    places: Array,
) -> None:
    """The row of one side in each of the results `[begin, end)`: the number of its run, its place.

    Results of a driver count through the last side first. `ends` has where those of each driver
    end, and `driver` is the one of the first result.
    """
    at = begin
    while at < end:
        stop = min(end, ends[driver])
        if stop > at:
            inner = 1
            for later in range(side + 1, len(sizes)):
                inner *= sizes[later, driver]
            count = inner * sizes[side, driver]
            for earlier in range(side):
                count *= sizes[earlier, driver]
            passed = at - (ends[driver] - count)
            rest = inner - passed % inner
            element = (passed // inner) % sizes[side, driver]
            run = first_runs[side]
            while element >= highs[run, driver] - lows[run, driver]:
                element -= highs[run, driver] - lows[run, driver]
                run += 1
            place = lows[run, driver] + element
            while at < stop:
                until = min(stop, at + rest)
                while at < until:
                    runs[at - begin], places[at - begin] = run - first_runs[side], place
                    at += 1
                rest = inner
                place += 1
                if place == highs[run, driver]:
                    run += 1
                    while run < first_runs[side + 1] and highs[run, driver] == lows[run, driver]:
                        run += 1
                    if run == first_runs[side + 1]:
                        run = first_runs[side]
                        while highs[run, driver] == lows[run, driver]:
                            run += 1
                    place = lows[run, driver]
        driver += 1
