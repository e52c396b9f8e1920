"""Approximate aggregates: estimates from sketches, with bounds.

An error is what the sketch's makers promise of it: for distinct counts the relative standard
error, for percentiles the error of the sort_key at 99 %, for counts of values a share of all rows.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from tidemill.aggregates.functions.base import (
    Function,
    bigint,
    double,
    error_between,
    fraction,
    is_number,
    is_plain,
    number_of_items,
    text_as_double,
)
from tidemill.aggregates.lanes import Lane, PlainRow, PlainWindow
from tidemill.aggregates.lanes.base import known_values
from tidemill.aggregates.lowering import CombinedLanes, Lowered, Numbers, nowhere
from tidemill.aggregates.plain import sort_key
from tidemill.aggregates.sketches import (
    CountMinLane,
    HllLane,
    ItemsLane,
    KllLane,
    SketchLane,
    ThetaLane,
)
from tidemill.aggregates.sketches.counting import count_min_width
from tidemill.aggregates.sketches.distinct import hll_log_size, theta_log_size
from tidemill.aggregates.sketches.frequent import items_log_size
from tidemill.aggregates.sketches.keys import key_of
from tidemill.aggregates.sketches.quantiles import quantile_size
from tidemill.plan.expressions import Value
from tidemill.plan.functions import Parameter, Signature
from tidemill.plan.query import AggregateCall
from tidemill.types import BIGINT, Type, array_of, struct_of

_METHODS = ("hll", "theta")
_Parts = tuple[tuple[str, Callable[[Type], Type]], ...]
_WHOLE_BOUNDS: _Parts = (("low", bigint), ("high", bigint))
_BOUNDS: _Parts = (("low", double), ("high", double))


class Approximate(Function):
    """An estimate, its bounds `low` and `high`, and `estimated`: whether it is one at all."""

    @abstractmethod
    def lane(self, call: AggregateCall) -> SketchLane:
        """The sketch, of the size that the error asks for."""

    @abstractmethod
    def exactly(self, call: AggregateCall, values: Sequence[Any]) -> Any:
        """The value that is estimated, by looking at every value."""

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (self.lane(call),)

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        return *lanes.estimates(call, self.lane(call)).part(call.part), None

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        """Both bounds are the value, and it is exact."""
        return 0.0 if call.part == "estimated" else self.exactly(call, known_values(rows))


def _method(value: Value) -> str:
    return "" if value in _METHODS else f"it is {' or '.join(map(repr, _METHODS))}"


class ApproxCountDistinct(Approximate):
    """By HyperLogLog or by theta sketches."""

    signature: ClassVar[Signature] = Signature(
        "APPROX_COUNT_DISTINCT",
        "plain values",
        is_plain,
        bigint,
        parameters=(
            error_between("0.001", "0.1", "0.0163"),
            Parameter("method", _method, "hll", is_required=False),
        ),
        parts=_WHOLE_BOUNDS,
        estimates=True,
        is_exact=False,
    )

    def lane(self, call: AggregateCall) -> SketchLane:
        error, method = call.parameters
        if method == "hll":
            return HllLane(call.argument, parameters=(hll_log_size(_number(error)),))
        return ThetaLane(call.argument, parameters=(theta_log_size(_number(error)),))

    def exactly(self, call: AggregateCall, values: Sequence[Any]) -> Any:
        return len(_counts(values))


class ApproxPercentile(Approximate):
    """The least value with such a share of all at or below it, by KLL sketches."""

    signature: ClassVar[Signature] = Signature(
        "APPROX_PERCENTILE",
        "numbers",
        is_number,
        double,
        text_as_double,
        parameters=(Parameter("p", fraction), error_between("0.0001", "0.1", "0.0133")),
        parts=_BOUNDS,
        estimates=True,
        is_exact=False,
        scales=False,
    )
    synonyms: ClassVar[tuple[str, ...]] = ("PERCENTILE_APPROX",)

    def lane(self, call: AggregateCall) -> SketchLane:
        return KllLane(call.argument, parameters=(quantile_size(_number(call.parameters[1])),))

    def exactly(self, call: AggregateCall, values: Sequence[Any]) -> Any:
        numbers = sorted(float(value) for value in values if value == value)
        place = max(0, math.ceil(_number(call.parameters[0]) * len(numbers)) - 1)
        return numbers[place] if numbers else None


def _is_countable(kind: Type) -> bool:
    return is_plain(kind) and kind.name != "BINARY"


def _top(value: Type) -> Type:
    return array_of(struct_of(value=value, count=BIGINT, low=BIGINT, high=BIGINT))


class ApproxTopK(Approximate):
    """The most frequent values, each with bounds of its count."""

    signature: ClassVar[Signature] = Signature(
        "APPROX_TOP_K",
        "plain values but BINARY",
        _is_countable,
        _top,
        parameters=(Parameter("k", number_of_items), error_between("0.00001", "0.1", "0.005")),
        estimates=True,
        is_exact=False,
    )

    def lane(self, call: AggregateCall) -> SketchLane:
        items, error = map(_number, call.parameters)
        return ItemsLane(call.argument, parameters=(items_log_size(error, int(items)),))

    def lower(self, call: AggregateCall, lanes: CombinedLanes) -> Lowered:
        lists = lanes.sketches(self.lane(call)).most_frequent(call)
        return lists, nowhere(len(lists))

    def exactly(self, call: AggregateCall, values: Sequence[Any]) -> Any:
        counts = sorted(_counts(values).items(), key=lambda item: (-item[1], sort_key(item[0])))
        items = [{"value": v, "count": n, "low": n, "high": n} for v, n in counts]
        return items[: int(_number(call.parameters[0]))] or None


def _any_value(_: Value) -> str:
    return ""


def _has_key(kind: Type, constants: tuple[Value, ...]) -> str:
    """The reason why a value cannot be counted among values of the type."""
    try:
        key_of(constants[0], kind)
    except ValueError as error:
        return f"value {constants[0]!r}: {error}"
    return ""


class ApproxCount(Approximate):
    """The count of one value, by count-min sketches."""

    signature: ClassVar[Signature] = Signature(
        "APPROX_COUNT",
        "plain values but BINARY",
        _is_countable,
        bigint,
        parameters=(Parameter("value", _any_value), error_between("0.00001", "0.1", "0.01")),
        parts=_WHOLE_BOUNDS,
        estimates=True,
        is_exact=False,
        fits=_has_key,
    )

    def lane(self, call: AggregateCall) -> SketchLane:
        width = count_min_width(_number(call.parameters[1]))
        return CountMinLane(call.argument, parameters=(width,))

    def exactly(self, call: AggregateCall, values: Sequence[Any]) -> Any:
        value: Any = call.parameters[0]
        if isinstance(value, Decimal) and any(isinstance(other, float) for other in values[:1]):
            value = float(value)
        return _counts(values)[value]


def _counts(values: Sequence[Any]) -> Counter[Any]:
    """NaN is one value, though no NaN equals another."""
    return Counter(math.nan if value != value else value for value in values)


def _number(value: Value) -> float:
    return float(str(value))
