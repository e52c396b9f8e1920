"""MEDIAN and PERCENTILE, interpolated as Spark does."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tidemill.aggregates.functions.base import Function, double, fraction, is_number, text_as_double
from tidemill.aggregates.lanes import Counts, Lane, PlainRow, PlainWindow
from tidemill.aggregates.lanes.base import known_values
from tidemill.aggregates.lowering import CombinedLanes, Numbers
from tidemill.aggregates.plain import sort_key, unsigned_zero
from tidemill.arrays import Array
from tidemill.plan.functions import Parameter, Signature
from tidemill.plan.query import AggregateCall


class PercentileFunction(Function):
    """The value a fraction of the way through all values in order; NULL of none."""

    sibling: ClassVar[str] = "APPROX_PERCENTILE"

    @abstractmethod
    def fraction(self, call: AggregateCall) -> float:
        """The fraction that lies below the percentile."""

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (Counts(call.argument),)

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        windows = lanes.bags(Counts(call.argument))
        values, known = windows.percentile(self.fraction(call), _doubles(windows.dictionary))
        return values, known, None

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        values = sorted((unsigned_zero(value) for value in known_values(rows)), key=sort_key)
        return plain_percentile(values, self.fraction(call)) if values else None


class Median(PercentileFunction):
    """Half of the way."""

    signature: ClassVar[Signature] = Signature(
        "MEDIAN", "numbers", is_number, double, text_as_double
    )

    def fraction(self, call: AggregateCall) -> float:
        return 0.5


class Percentile(PercentileFunction):
    """As far as the constant says."""

    signature: ClassVar[Signature] = Signature(
        "PERCENTILE",
        "numbers",
        is_number,
        double,
        text_as_double,
        parameters=(Parameter("p", fraction),),
    )

    def fraction(self, call: AggregateCall) -> float:
        return float(str(call.parameters[0]))


def plain_percentile(values: Sequence[Any], fraction: float) -> float:
    """Of sorted values, as Spark interpolates."""
    at = (len(values) - 1) * fraction
    low, high = float(values[math.floor(at)]), float(values[math.ceil(at)])
    if low == high or math.floor(at) == math.ceil(at) or (low != low and high != high):
        return low
    return low + (high - low) * (at - math.floor(at))


def _doubles(dictionary: pa.Array) -> Array:
    """Decimals to the nearest double: Arrow's own cast may miss it by a bit."""
    if pa.types.is_decimal(dictionary.type):
        return np.array([float(value) for value in dictionary.to_pylist()], np.float64)
    return np.asarray(dictionary.to_numpy(zero_copy_only=False), np.float64)
