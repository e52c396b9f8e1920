"""The aggregate functions there are: one line for each here, and a class for each beside it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from tidemill.aggregates.estimates import Estimates
from tidemill.aggregates.functions.approximate import (
    ApproxCount,
    ApproxCountDistinct,
    ApproxPercentile,
    ApproxTopK,
)
from tidemill.aggregates.functions.base import Function
from tidemill.aggregates.functions.collect import Collect
from tidemill.aggregates.functions.extremes import Maximum, Minimum
from tidemill.aggregates.functions.frequent import FrequentFunction
from tidemill.aggregates.functions.geometric import GeometricMean
from tidemill.aggregates.functions.outermost import FirstFunction, LastFunction
from tidemill.aggregates.functions.percentile import Median, Percentile
from tidemill.aggregates.functions.spread import (
    PopulationDeviation,
    PopulationVariance,
    SampleDeviation,
    SampleVariance,
)
from tidemill.aggregates.functions.top import Top
from tidemill.aggregates.functions.totals import (
    AverageFunction,
    CountDistinct,
    CountFunction,
    SumFunction,
)
from tidemill.aggregates.lanes import Lane
from tidemill.aggregates.lowering import CombinedLanes, Lowered, Lowering, Numbers
from tidemill.aggregates.user.function import UserFunction
from tidemill.catalog import Code
from tidemill.plan.functions import Signatures
from tidemill.plan.functions.user import signature_of
from tidemill.plan.query import AggregateCall

# In the order in which SHOW AGGREGATES lists them.
FUNCTIONS: Mapping[str, Function] = {
    function.signature.name: function
    for function in (
        CountFunction(),
        SumFunction(),
        AverageFunction(),
        GeometricMean(),
        Minimum(),
        Maximum(),
        SampleVariance(),
        PopulationVariance(),
        SampleDeviation(),
        PopulationDeviation(),
        FirstFunction(),
        LastFunction(),
        CountDistinct(),
        Median(),
        Percentile(),
        Top(),
        Collect(),
        FrequentFunction(),
        ApproxCountDistinct(),
        ApproxPercentile(),
        ApproxTopK(),
        ApproxCount(),
    )
}
BUILT_IN = Signatures(
    {name: function.signature for name, function in FUNCTIONS.items()},
    {synonym: name for name, function in FUNCTIONS.items() for synonym in function.synonyms},
)
_USER = UserFunction()


def signatures_with(codes: Iterable[Code]) -> Signatures:
    """The built-in aggregates and those of users."""
    return BUILT_IN.and_also(signature_of(code) for code in codes)


def function_of(call: AggregateCall) -> Function:
    """The function that is called."""
    return FUNCTIONS[call.function] if call.code is None else _USER


def lanes_behind(call: AggregateCall) -> tuple[Lane, ...]:
    """The lanes that an aggregate is lowered from."""
    return function_of(call).lanes(call)


def gives_numbers(call: AggregateCall) -> bool:
    """True if `lower_numbers` lowers the call; if not, `lower` does."""
    return function_of(call).gives_numbers(call)


def may_raise(call: AggregateCall) -> bool:
    """True if there are values for which Spark raises where others get a result."""
    return function_of(call).may_raise(call)


def lower_numbers(
    call: AggregateCall, lanes: Mapping[Lane, Lowering], estimated: dict[Hashable, Estimates]
) -> Numbers:
    """The values as NumPy keeps them; `estimated` keeps estimates for the calls to come."""
    return function_of(call).lower_numbers(call, CombinedLanes(lanes, estimated))


def lower(call: AggregateCall, lanes: Mapping[Lane, Lowering]) -> Lowered:
    """The values in Arrow, and where Spark would have raised (the value is NULL there)."""
    return function_of(call).lower(call, CombinedLanes(lanes))
