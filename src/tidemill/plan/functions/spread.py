"""How far values lie apart, and which came first and last."""

from __future__ import annotations

from tidemill.plan.functions.call_form import Signature
from tidemill.plan.functions.kinds import double, is_number, is_plain, itself, text_as_double

SIGNATURES = (
    *(
        Signature(name, "numbers", is_number, double, text_as_double)
        for name in ("VARIANCE", "VAR_POP", "STDDEV", "STDDEV_POP")
    ),
    Signature("FIRST", "plain values", is_plain, itself),
    Signature("LAST", "plain values", is_plain, itself),
)
