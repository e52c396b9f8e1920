"""FREQUENT: the values that are surely there more often than a threshold, from sub-windows.

A window is cut where windows that slide by a sub-window would begin and end: by the slide that
is at the slices of the query itself, and a window of whole sub-windows has all of one length.
Of each sub-window the k heaviest values are listed, and the threshold is the sum of what the
last of each list weighs: no value that a list leaves out weighs more there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tidemill.aggregates.functions.base import (
    Function,
    bigint,
    is_plain,
    length_of_time,
    number_of_items,
)
from tidemill.aggregates.lanes import Counts, Lane, PlainRow, PlainWindow
from tidemill.aggregates.lowering import CombinedLanes, Lowered, Numbers, listed, nowhere
from tidemill.durations import parse_duration
from tidemill.plan.functions import Parameter, Signature
from tidemill.plan.query import AggregateCall
from tidemill.types import BIGINT, Type, array_of, struct_of

# A value with the bounds of its count.
Bounded = tuple[Any, int, int]


def _result(value: Type) -> Type:
    return array_of(struct_of(value=value, low=BIGINT, high=BIGINT))


class FrequentFunction(Function):
    """NULL where there is no value; empty where none of them is above the threshold."""

    signature: ClassVar[Signature] = Signature(
        "FREQUENT",
        "plain values",
        is_plain,
        _result,
        parameters=(
            Parameter("k", number_of_items),
            Parameter("subwindow", length_of_time, is_required=False),
        ),
        parts=(("delta", bigint),),
        is_exact=False,
        by_subwindow=True,
        scales=False,
    )
    sibling: ClassVar[str] = "APPROX_TOP_K"

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (Counts(call.argument),)

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        """The part `delta`."""
        windows = lanes.bags(Counts(call.argument))
        return windows.frequent(*_subwindows(call)).delta, None, None

    def lower(self, call: AggregateCall, lanes: CombinedLanes) -> Lowered:
        windows = lanes.bags(Counts(call.argument))
        frequent = windows.frequent(*_subwindows(call))
        values = windows.dictionary.take(pa.array(frequent.codes))
        bounds = [pa.array(frequent.low), pa.array(frequent.high)]
        triples = pa.StructArray.from_arrays([values, *bounds], ["value", "low", "high"])
        offsets = np.concatenate([[0], np.cumsum(frequent.sizes)])
        lists = listed(offsets, triples, call.slot.type.arrow, windows.total() == 0)
        return lists, nowhere(len(windows))

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        (start_us, end_us), (most, length_us) = window, _subwindows(call)
        pairs = [(time_us, value) for time_us, (value,) in rows if value is not None]
        subwindows: dict[int, Counter[Any]] = {}
        for time_us, value in pairs:
            number = subwindow_number(time_us - start_us, end_us - start_us, length_us)
            counts = subwindows.setdefault(number, Counter())
            counts[_ordered(value)] += 1
        delta, above = plain_frequent(list(subwindows.values()), most)
        if call.part == "delta":
            return delta
        if not pairs:
            return None
        return [{"value": v[1], "low": low, "high": high} for v, low, high in above]


def subwindow_number(offset_us: int, range_us: int, length_us: int) -> int:
    """The sub-window of a row, by its distance from the start of its window; -1: none.

    >>> [subwindow_number(offset, 5, 3) for offset in range(5)]
    [-1, -1, 0, 1, 1]
    """
    return offset_us // length_us + (offset_us - range_us % length_us) // length_us


def plain_frequent(subwindows: Sequence[Mapping[Any, int]], most: int) -> tuple[int, list[Bounded]]:
    """The threshold, and the values above it with bounds of their counts.

    >>> plain_frequent([{"a": 5, "b": 3}, {"a": 4, "c": 1}], most=2)
    (4, [('a', 9, 9)])
    """
    delta, totals, listed_deltas = 0, Counter[Any](), Counter[Any]()
    for counts in subwindows:
        order = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
        least = order[-1][1] if len(order) == most else 0
        delta += least
        for value, count in order:
            totals[value] += count
            listed_deltas[value] += least
    above = [(v, n, n + delta - listed_deltas[v]) for v, n in totals.items() if n > delta]
    return delta, sorted(above, key=lambda bounded: (-bounded[1], bounded[0]))


def _subwindows(call: AggregateCall) -> tuple[int, int]:
    """The number of values listed, and the length of the sub-windows."""
    most, length = call.parameters
    assert isinstance(most, int)
    assert isinstance(length, str)
    return most, parse_duration(length)


def _ordered(value: Any) -> Any:
    """Sorted by bytes if it is text; the value itself behind what it is sorted by."""
    return (value.encode() if isinstance(value, str) else value, value)
