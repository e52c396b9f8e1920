"""Which aggregates there are: how each is called, over what, and what it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidemill.errors import Place, listing, refuse
from tidemill.plan.functions import basic, holistic, sketches, spread
from tidemill.plan.functions.call_form import Parameter, Signature

__all__ = ["BUILT_IN", "Known", "Parameter", "Signature"]

SYNONYMS = {
    "MEAN": "AVG",
    "VAR_SAMP": "VARIANCE",
    "STD": "STDDEV",
    "STDDEV_SAMP": "STDDEV",
    "FIRST_VALUE": "FIRST",
    "LAST_VALUE": "LAST",
    "PERCENTILE_APPROX": "APPROX_PERCENTILE",
}
# Aggregates of Spark and of the language page that are refused by name, so that the user
# is not told about an ungrouped column instead.
LATER = frozenset(
    (
        "COLLECT_LIST COLLECT_SET "
        "ARRAY_AGG COUNT_IF BOOL_AND BOOL_OR EVERY ANY SOME ANY_VALUE MAX_BY MIN_BY CORR "
        "COVAR_POP COVAR_SAMP SKEWNESS KURTOSIS MODE BIT_AND BIT_OR BIT_XOR TRY_SUM TRY_AVG "
        "HISTOGRAM_NUMERIC LISTAGG STRING_AGG REGR_COUNT REGR_SLOPE GROUPING GROUPING_ID "
        "HLL_SKETCH_AGG COUNT_MIN_SKETCH"
    ).split()
)


@dataclass(frozen=True)
class Known:
    """The aggregates that a query may call, by upper-case name."""

    signatures: Mapping[str, Signature] = field(hash=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.signatures)

    def canonical(self, name: str) -> str | None:
        """The aggregate a function name means, or None when it is a scalar function."""
        upper = SYNONYMS.get(name.upper(), name.upper())
        return upper if upper in self.signatures or upper in LATER else None

    def called(self, function: str, place: Place | None) -> Signature:
        """The signature of a canonical name."""
        if function not in self.signatures:
            refuse(
                "E_NOT_BUILT",
                f"aggregate {function} is not built yet",
                detail=listing("aggregates", self.names),
                place=place,
            )
        return self.signatures[function]


_BUILT = (*basic.SIGNATURES, *spread.SIGNATURES, *holistic.SIGNATURES, *sketches.SIGNATURES)
BUILT_IN = Known({signature.name: signature for signature in _BUILT})
