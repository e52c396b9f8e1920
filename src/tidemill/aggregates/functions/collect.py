"""COLLECT: the least values, each as often as it is there, and how many there are in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tidemill.aggregates.functions.base import (
    Function,
    bigint,
    is_plain,
    number_of_items,
    whole_constant,
)
from tidemill.aggregates.lanes import Counts, Lane, PlainRow, PlainWindow
from tidemill.aggregates.lanes.base import known_values
from tidemill.aggregates.lowering import CombinedLanes, Lowered, Numbers, listed, nowhere
from tidemill.aggregates.plain import sort_key, unsigned_zero
from tidemill.plan.functions import Parameter, Signature
from tidemill.plan.query import AggregateCall
from tidemill.types import array_of


class Collect(Function):
    """Up to so many values, ascending; NULL where there is none."""

    signature: ClassVar[Signature] = Signature(
        "COLLECT",
        "plain values",
        is_plain,
        array_of,
        parameters=(Parameter("k", number_of_items),),
        parts=(("total", bigint),),
    )

    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        return (Counts(call.argument),)

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        """The part `total`."""
        return lanes.bags(Counts(call.argument)).total(), None, None

    def lower(self, call: AggregateCall, lanes: CombinedLanes) -> Lowered:
        windows = lanes.bags(Counts(call.argument))
        most = whole_constant(call.parameters[0])
        picked = windows.pick(most, by_weight=False)
        counts = picked.weights[0]
        passed = np.concatenate([[0], np.cumsum(counts)])
        ahead = passed[:-1] - passed[picked.offsets[:-1]][picked.owner]
        often = np.clip(most - ahead, 0, counts)
        values = windows.dictionary.take(pa.array(np.repeat(picked.codes, often)))
        sizes = np.bincount(picked.owner, often, minlength=len(windows)).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return listed(offsets, values, call.slot.type.arrow, sizes == 0), nowhere(len(windows))

    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        values = sorted((unsigned_zero(value) for value in known_values(rows)), key=sort_key)
        if call.part == "total":
            return len(values)
        return values[: whole_constant(call.parameters[0])] or None
