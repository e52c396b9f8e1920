"""Aggregates of which no fixed part suffices: they are worked out from counts of values."""

from __future__ import annotations

from tidemill.plan.functions.basic import SIGNATURES as BASIC
from tidemill.plan.functions.call_form import Parameter, Signature
from tidemill.plan.functions.checks import fraction, length_of_time, number_of_items
from tidemill.plan.functions.kinds import double, is_number, is_plain, text_as_double, whole
from tidemill.types import BIGINT, Type, array_of, struct_of

_SUM = next(signature for signature in BASIC if signature.name == "SUM")
_ITEMS = Parameter("k", number_of_items)


def _top(value: Type) -> Type:
    return array_of(struct_of(value=value, weight=BIGINT))


def _frequent(value: Type) -> Type:
    return array_of(struct_of(value=value, low=BIGINT, high=BIGINT))


def _top_by_sum(value: Type, weight: Type) -> Type:
    return array_of(struct_of(value=value, weight=_SUM.result(weight)))


SIGNATURES = (
    Signature("COUNT_DISTINCT", "plain values", is_plain, whole),
    Signature("MEDIAN", "numbers", is_number, double, text_as_double),
    Signature(
        "PERCENTILE",
        "numbers",
        is_number,
        double,
        text_as_double,
        parameters=(Parameter("p", fraction),),
    ),
    Signature("TOP", "plain values", is_plain, _top, parameters=(_ITEMS,), weighted=_top_by_sum),
    Signature(
        "COLLECT",
        "plain values",
        is_plain,
        array_of,
        parameters=(_ITEMS,),
        parts=(("total", whole),),
    ),
    Signature(
        "FREQUENT",
        "plain values",
        is_plain,
        _frequent,
        parameters=(_ITEMS, Parameter("subwindow", length_of_time, is_required=False)),
        parts=(("delta", whole),),
    ),
)
