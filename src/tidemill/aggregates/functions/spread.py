"""The spread of values: variances and their roots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tidemill.aggregates.functions.base import Function, double, is_number, text_as_double
from tidemill.aggregates.lanes import Lane, Moments, PlainRow, PlainWindow
from tidemill.aggregates.lanes.base import known_values
from tidemill.aggregates.lowering import CombinedLanes, Numbers
from tidemill.plan.functions import Signature
from tidemill.plan.query import AggregateCall


class Spread(Function):
    """NULL of nothing at all; of a single value Spark's sample variance is NULL, too."""

    taken_off: ClassVar[int]  # of the count before it divides
    is_root: ClassVar[bool]

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (Moments(call.argument),)

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        moments = lanes.encoded(Moments(call.argument)).values
        known = moments["n"] > self.taken_off
        values = moments["m2"] / np.where(known, moments["n"] - self.taken_off, 1)
        return np.sqrt(values) if self.is_root else values, known, None

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        values = [float(value) for value in known_values(rows)]
        if len(values) <= self.taken_off:
            return None
        variance = plain_variance(values, self.taken_off)
        return math.sqrt(variance) if self.is_root else variance


def plain_variance(values: Sequence[float], taken_off: int) -> float:
    """In two passes; NaN with any value that is not finite."""
    if not all(map(math.isfinite, values)):
        return math.nan
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - taken_off)


def _signature(name: str) -> Signature:
    return Signature(name, "numbers", is_number, double, text_as_double)


class SampleVariance(Spread):
    """Of a sample."""

    signature: ClassVar[Signature] = _signature("VARIANCE")
    synonyms: ClassVar[tuple[str, ...]] = ("VAR_SAMP",)
    taken_off: ClassVar[int] = 1
    is_root: ClassVar[bool] = False


class PopulationVariance(Spread):
    """Of all there are."""

    signature: ClassVar[Signature] = _signature("VAR_POP")
    taken_off: ClassVar[int] = 0
    is_root: ClassVar[bool] = False


class SampleDeviation(Spread):
    """The root of the sample variance."""

    signature: ClassVar[Signature] = _signature("STDDEV")
    synonyms: ClassVar[tuple[str, ...]] = ("STD", "STDDEV_SAMP")
    taken_off: ClassVar[int] = 1
    is_root: ClassVar[bool] = True


class PopulationDeviation(Spread):
    """The root of the variance of all there are."""

    signature: ClassVar[Signature] = _signature("STDDEV_POP")
    taken_off: ClassVar[int] = 0
    is_root: ClassVar[bool] = True
