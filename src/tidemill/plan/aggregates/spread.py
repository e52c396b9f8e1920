"""How far values lie apart, and which came first and last."""

from __future__ import annotations

from tidemill.plan.aggregates.kinds import double, is_number, is_plain, itself, text_as_double
from tidemill.plan.aggregates.signature import Signature

SIGNATURES = (
    *(
        Signature(name, "numbers", is_number, double, text_as_double)
        for name in ("VARIANCE", "VAR_POP", "STDDEV", "STDDEV_POP")
    ),
    Signature("FIRST", "plain values", is_plain, itself),
    Signature("LAST", "plain values", is_plain, itself),
)
