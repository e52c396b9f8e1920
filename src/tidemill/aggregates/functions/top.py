"""TOP: the values that are there most often, or with the greatest sum of another column."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tidemill.aggregates.functions.base import Function, is_plain, number_of_items, whole_constant
from tidemill.aggregates.functions.totals import SumFunction
from tidemill.aggregates.lanes import Counts, Lane, PlainRow, PlainWindow, Weights
from tidemill.aggregates.limbs import to_decimal, to_int64
from tidemill.aggregates.lowering import CombinedLanes, Lowered, listed, nowhere
from tidemill.aggregates.plain import sort_key, unsigned_zero
from tidemill.arrays import Array, BoolArray
from tidemill.plan.functions import Parameter, Signature
from tidemill.plan.query import AggregateCall
from tidemill.types import BIGINT, Type, array_of, struct_of


def _by_count(value: Type) -> Type:
    return array_of(struct_of(value=value, weight=BIGINT))


def _by_sum(value: Type, weight: Type) -> Type:
    return array_of(struct_of(value=value, weight=SumFunction.signature.result(weight)))


class Top(Function):
    """The heaviest first, and of equal ones the least; NULL where there is no value."""

    signature: ClassVar[Signature] = Signature(
        "TOP",
        "plain values",
        is_plain,
        _by_count,
        parameters=(Parameter("k", number_of_items),),
        weighted=_by_sum,
    )
    sibling: ClassVar[str] = "APPROX_TOP_K"

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (Weights(call.argument, call.others) if call.others else Counts(call.argument),)

    def lower(self, call: AggregateCall, lanes: CombinedLanes) -> Lowered:
        (lane,) = self.lanes(call)
        windows = lanes.bags(lane)
        picked = windows.pick(whole_constant(call.parameters[0]), by_weight=True)
        weights, lost = _weights(picked.weights, _weight_type(call))
        pairs = pa.StructArray.from_arrays(
            [windows.dictionary.take(pa.array(picked.codes)), weights], ["value", "weight"]
        )
        raised = nowhere(len(windows))
        raised[picked.owner[lost]] = True
        return listed(picked.offsets, pairs, call.slot.type.arrow, picked.sizes == 0), raised

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        weights: dict[Any, Any] = {}
        values: dict[Any, Any] = {}
        for value, *weight in (values for _, values in rows if None not in values):
            key = sort_key(unsigned_zero(value))
            values[key] = unsigned_zero(value)
            weights[key] = weights.get(key, 0) + (weight[0] if weight else 1)
        order = sorted(sorted(values), key=lambda key: sort_key(weights[key]), reverse=True)
        kind, most = _weight_type(call), whole_constant(call.parameters[0])
        top = [
            {"value": values[key], "weight": _fitting(weights[key], kind)} for key in order[:most]
        ]
        return top or None


def _weight_type(call: AggregateCall) -> Type:
    return dict(call.slot.type.inner[0][1].inner)["weight"]


def _weights(weights: Array, kind: Type) -> tuple[pa.Array, BoolArray]:
    """As Spark's sums are, NULL where one has too many digits; and where that is."""
    if kind.is_decimal:
        sums = to_decimal(weights.T, kind.precision, kind.scale)
        return sums, np.asarray(sums.is_null().to_numpy(zero_copy_only=False))
    if len(weights) == 1:
        return pa.array(weights[0]), nowhere(weights.shape[1])
    values, overflow = to_int64(np.ascontiguousarray(weights.T))
    return pa.array(values, mask=overflow), overflow


def _fitting(weight: Any, kind: Type) -> Any:
    """NULL where a sum has more digits than its type."""
    if kind == BIGINT:
        return weight if -(2**63) <= weight < 2**63 else None
    if isinstance(weight, Decimal):
        return weight if abs(weight) < Decimal(10) ** (kind.precision - kind.scale) else None
    return float(weight)
