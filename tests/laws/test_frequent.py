"""What FREQUENT promises, on random streams: even ones, skewed ones, and such with bursts.

The sub-windows are those of windows that slide by one sub-window at a time; truth is counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidemill.aggregates import Bags, bags
from tidemill.aggregates.functions.frequent import plain_frequent
from tidemill.state.layouts.bag_runs import Runs, SortedBags

LENGTH_US = 10
Subwindow = dict[int, int]

STEADY = st.dictionaries(st.integers(0, 12), st.integers(1, 6), max_size=10)
# Now and then one value is nearly all there is, and is not seen before or after.
BURST = st.integers(0, 30).map(lambda value: {value: 100, (value + 1) % 31: 1})
STREAMS = st.lists(STEADY | BURST, min_size=1, max_size=10)


def cells_of(stream: list[Subwindow]) -> SortedBags:
    """Every sub-window in two slices, so that their counts have to be added."""
    rows, sizes, starts = [], [], []
    for number, counts in enumerate(stream):
        halves = (
            {v: c // 2 for v, c in counts.items()},
            {v: c - c // 2 for v, c in counts.items()},
        )
        for half, found in enumerate(halves):
            kept = {value: count for value, count in found.items() if count}
            rows += list(kept.items())
            sizes.append(len(kept))
            starts.append(number * LENGTH_US + half * LENGTH_US // 2)
    values = pa.array([value for value, _ in rows], pa.int64())
    weights = np.array([[count for _, count in rows]], np.int64).reshape(1, -1)
    whole = bags.from_rows(values, weights)
    end = np.cumsum(sizes)
    made = Bags(end - np.array(sizes), end, whole.codes, weights, whole.dictionary)
    return SortedBags(replace(made, start_us=np.array(starts)))


@given(STREAMS, st.integers(1, 4), st.integers(1, 5))
def test_guarantees(stream: list[Subwindow], most: int, length: int) -> None:
    first = np.arange(max(1, len(stream) - length + 1))
    last = np.minimum(first + length, len(stream))
    ranges_us = (last - first) * LENGTH_US
    runs = Runs(cells_of(stream), 2 * first, 2 * last, first * LENGTH_US, ranges_us)
    found = runs.frequent(most, LENGTH_US)
    values = runs.dictionary.take(pa.array(found.codes)).to_pylist()
    bounds = np.concatenate([[0], np.cumsum(found.sizes)])
    for window, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        truth: Counter[int] = Counter()
        for counts in stream[low:high]:
            truth.update(counts)
        mine = range(bounds[window], bounds[window + 1])
        reported = {values[n]: (int(found.low[n]), int(found.high[n])) for n in mine}
        # As it is told in plain words.
        delta, wanted = plain_frequent(stream[low:high], most)
        assert (int(found.delta[window]), list(reported)) == (delta, [v for v, _, _ in wanted])
        assert list(reported.values()) == [(least, greatest) for _, least, greatest in wanted]
        # No value is reported that is not there more often than the threshold.
        assert all(truth[value] > delta for value in reported)
        # Counts lie within their bounds.
        assert all(least <= truth[v] <= greatest for v, (least, greatest) in reported.items())


@given(STREAMS, st.integers(1, 3), st.integers(1, 19), st.integers(1, 4))
def test_windows_of_any_length_are_cut_from_both_ends(
    stream: list[Subwindow], most: int, halves: int, subwindow: int
) -> None:
    """Of half sub-windows as slices: the plain twin cuts at the same times, and bounds hold."""
    half_us, length_us = LENGTH_US // 2, subwindow * LENGTH_US // 2
    cells = cells_of(stream)
    begin = np.arange(max(1, 2 * len(stream) - halves + 1))
    end = np.minimum(begin + halves, 2 * len(stream))
    ranges_us = np.full(len(begin), halves * half_us)
    found = Runs(cells, begin, end, begin * half_us, ranges_us).frequent(most, length_us)
    slices = [
        {v: n for v, c in counts.items() if (n := c // 2 if half == 0 else c - c // 2)}
        for counts in stream
        for half in (0, 1)
    ]
    values = cells.bags.dictionary.take(pa.array(found.codes)).to_pylist()
    bounds = np.concatenate([[0], np.cumsum(found.sizes)])
    for window, (low, high) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        edges = {0, halves * half_us}
        edges |= set(range(0, halves * half_us, length_us))
        edges |= set(range(halves * half_us, 0, -length_us))
        parts: list[Counter[int]] = []
        for number, counts in enumerate(slices[low:high]):
            if number * half_us in edges:
                parts.append(Counter())
            parts[-1].update(counts)
        delta, wanted = plain_frequent(parts, most)
        mine = slice(bounds[window], bounds[window + 1])
        bounded = zip(values[mine], found.low[mine], found.high[mine], strict=True)
        assert (int(found.delta[window]), [(v, int(a), int(b)) for v, a, b in bounded]) == (
            delta,
            wanted,
        )
        truth = sum(parts, Counter[int]())
        assert all(delta < truth[v] and least <= truth[v] <= most_ for v, least, most_ in wanted)


@given(STREAMS, st.integers(1, 4))
def test_what_is_not_reported_is_within_twice_the_threshold(
    stream: list[Subwindow], most: int
) -> None:
    """A value that lists leave out is there at most `delta` times more than they say."""
    delta, above = plain_frequent(stream, most)
    truth: Counter[int] = Counter()
    for counts in stream:
        truth.update(counts)
    missed = truth.keys() - {value for value, _, _ in above}
    assert all(truth[value] <= 2 * delta for value in missed)
