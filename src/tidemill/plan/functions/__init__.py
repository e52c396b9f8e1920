"""Calls of aggregates: the names that a query may call, and how each is called.

Which aggregates there are is declared where they are carried out, in `aggregates/functions`;
the binder is handed their signatures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tidemill.errors import Place, listing, refuse
from tidemill.plan.functions.call_form import Parameter, Signature

__all__ = ["Parameter", "Signature", "Signatures"]

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
class Signatures:
    """The aggregates that a query may call, by upper-case name; synonyms by the name they mean."""

    by_name: Mapping[str, Signature] = field(hash=False)
    synonyms: Mapping[str, str] = field(hash=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.by_name)

    def and_also(self, more: Iterable[Signature]) -> Signatures:
        """These and more, which take the place of those with the same name."""
        return replace(
            self, by_name={**self.by_name, **{signature.name: signature for signature in more}}
        )

    def canonical(self, name: str) -> str | None:
        """The aggregate a function name means, or None when it is a scalar function."""
        upper = self.synonyms.get(name.upper(), name.upper())
        return upper if upper in self.by_name or upper in LATER else None

    def called(self, function: str, place: Place | None) -> Signature:
        """The signature of a canonical name."""
        if function not in self.by_name:
            refuse(
                "E_NOT_BUILT",
                f"aggregate {function} is not built yet",
                detail=listing("aggregates", self.names),
                place=place,
            )
        return self.by_name[function]
