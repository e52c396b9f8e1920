"""Approximate aggregates: how they are called, and how large a sketch keeps the error asked for.

An error is what the sketch's makers promise of it: for distinct counts the relative standard
error, for percentiles the error of the rank at 99 %, for counts of values a share of all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial

from tidemill.plan.expressions import Value
from tidemill.plan.functions.call_form import Parameter, Signature
from tidemill.plan.functions.checks import fraction, number_of_items
from tidemill.plan.functions.keys import key_of
from tidemill.plan.functions.kinds import double, is_number, is_plain, text_as_double, whole
from tidemill.types import BIGINT, Type, array_of, struct_of

METHODS = ("hll", "theta")
# Of an HLL union: the root of 3 ln 2 - 1; of theta it is 1.
HLL_FACTOR = 1.03896
# The best fit of the library's makers to the 99th percentile of thousands of trials.
_KLL_FACTOR, _KLL_POWER = 2.296, 0.9723
_ITEMS_FACTOR, _ITEMS_FILL = 3.5, 0.75
# Rows of a count-min sketch: every one halves the doubt more than once; with five it is 0.7 %.
COUNT_MIN_ROWS = 5


def distinct_log_size(error: float, method: str) -> int:
    """Twice the logarithm makes twice the registers, or hashes, and a root less of error."""
    if method == "hll":
        return max(7, math.ceil(2 * math.log2(HLL_FACTOR / error)))
    return max(7, math.ceil(math.log2(1 + 1 / error**2)))


def quantile_size(error: float) -> int:
    """
    >>> quantile_size(0.0133), quantile_size(0.001)
    (200, 2863)
    """
    return math.ceil(math.pow(_KLL_FACTOR / error, 1 / _KLL_POWER))


def quantile_error(size: int) -> float:
    return _KLL_FACTOR / float(size**_KLL_POWER)


def items_log_size(error: float, items: int) -> int:
    """A table that errs by no more, and has room for what is asked for."""
    return math.ceil(math.log2(max(_ITEMS_FACTOR / error, items / _ITEMS_FILL, 8)))


def items_room(log_size: int) -> int:
    """How many values a table holds before it drops any."""
    return int(_ITEMS_FILL * 2**log_size)


def count_min_width(error: float) -> int:
    return math.ceil(math.e / error)


def _top(value: Type) -> Type:
    return array_of(struct_of(value=value, count=BIGINT, low=BIGINT, high=BIGINT))


def _error(value: Value, least: Decimal, most: Decimal) -> str:
    if isinstance(value, int | Decimal) and least <= value <= most:
        return ""
    told = f"it lies between {least} and {most}"
    if isinstance(value, int) and value >= 1 / most:
        told += f"; Spark's accuracy {value} is error => {Decimal(1) / value:f}"
    return told


def _error_of(least: str, most: str, default: str) -> Parameter:
    wrong = partial(_error, least=Decimal(least), most=Decimal(most))
    return Parameter("error", wrong, Decimal(default), is_required=False)


def _method(value: Value) -> str:
    return "" if value in METHODS else f"it is {' or '.join(map(repr, METHODS))}"


def _any(_: Value) -> str:
    return ""


def _is_countable(kind: Type) -> bool:
    return is_plain(kind) and kind.name != "BINARY"


def _has_key(kind: Type, constants: tuple[Value, ...]) -> str:
    """What is wrong with a value to be counted among values of the type."""
    try:
        key_of(constants[0], kind)
    except ValueError as error:
        return f"value {constants[0]!r}: {error}"
    return ""


_Parts = tuple[tuple[str, Callable[[Type], Type]], ...]
_WHOLE_BOUNDS: _Parts = (("low", whole), ("high", whole))
_BOUNDS: _Parts = (("low", double), ("high", double))

SIGNATURES = (
    Signature(
        "APPROX_COUNT_DISTINCT",
        "plain values",
        is_plain,
        whole,
        parameters=(
            _error_of("0.001", "0.1", "0.0163"),
            Parameter("method", _method, "hll", is_required=False),
        ),
        parts=_WHOLE_BOUNDS,
        estimates=True,
    ),
    Signature(
        "APPROX_PERCENTILE",
        "numbers",
        is_number,
        double,
        text_as_double,
        parameters=(Parameter("p", fraction), _error_of("0.0001", "0.1", "0.0133")),
        parts=_BOUNDS,
        estimates=True,
    ),
    Signature(
        "APPROX_TOP_K",
        "plain values but BINARY",
        _is_countable,
        _top,
        parameters=(Parameter("k", number_of_items), _error_of("0.00001", "0.1", "0.005")),
        estimates=True,
    ),
    Signature(
        "APPROX_COUNT",
        "plain values but BINARY",
        _is_countable,
        whole,
        parameters=(Parameter("value", _any), _error_of("0.00001", "0.1", "0.01")),
        parts=_WHOLE_BOUNDS,
        estimates=True,
        fits=_has_key,
    ),
)
