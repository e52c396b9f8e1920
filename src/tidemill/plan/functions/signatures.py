"""Signatures of aggregates: the names that a query may call, how each is called, what it gives.

Which aggregates there are is declared where they are carried out, in `aggregates/functions`;
the binder is handed their signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from tidemill.catalog import Code
from tidemill.errors import Place, listing, refuse
from tidemill.plan.expressions import Value
from tidemill.types import Type

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

# The parameter that `IGNORE NULLS` behind a call sets.
IGNORE_NULLS = "ignore_nulls"


@dataclass(frozen=True)
class Parameter:
    """A constant after the argument, by its place or as `name => constant`.

    `wrong` says what is wrong with a value, as the end of a sentence; empty if nothing is.
    """

    name: str
    wrong: Callable[[Value], str]
    default: Value = None
    is_required: bool = True


@dataclass(frozen=True)
class Signature:
    """An aggregate: `accepts` tells over which types it is, `takes` says the same in words.

    `cast` is the type that an argument is cast to first, as Spark does with text that it adds
    up; `parts` are the further columns that an answer has beside the value itself, as `low`
    and `high`; `weighted` is the result of one that ends in `SUM(y)`, if it may; `fits` says
    what is wrong with the constants for an argument of some type. One that `estimates` makes
    the answer say whether it did; one that is not exact gives bounds. The last constant of one
    that counts `by_subwindow` is the length of the window's parts. One that
    `scales` is known of a row that counts many times, as in joins. `arguments` are what a call
    is shown with, `shown` is the form of one that is written otherwise; `code` is there for one
    that a user has written.
    """

    name: str
    takes: str
    accepts: Callable[[Type], bool]
    result: Callable[[Type], Type]
    cast: Callable[[Type], Type | None] = lambda _: None
    parameters: tuple[Parameter, ...] = ()
    parts: tuple[tuple[str, Callable[[Type], Type]], ...] = ()
    weighted: Callable[[Type, Type], Type] | None = None
    fits: Callable[[Type, tuple[Value, ...]], str] = lambda *_: ""
    estimates: bool = False
    is_exact: bool = True
    by_subwindow: bool = False
    scales: bool = True
    shown: str = ""
    arguments: tuple[str, ...] = ("x",)
    code: Code | None = None

    @property
    def form(self) -> str:
        """The form of a call, as text."""
        words = [
            *self.arguments,
            *(p.name if p.is_required else f"[{p.name}]" for p in self.parameters),
        ]
        words += ["[SUM(y)]"] if self.weighted else []
        return self.shown or f"{self.name}({', '.join(words)})"

    def result_of(self, argument: Type, weight: Type | None) -> Type:
        if weight is None or self.weighted is None:
            return self.result(argument)
        return self.weighted(argument, weight)


@dataclass(frozen=True)
class Signatures:
    """The aggregates that a query may call, by upper-case name; synonyms by the name they mean."""

    by_name: Mapping[str, Signature] = field(hash=False)
    synonyms: Mapping[str, str] = field(hash=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.by_name)

    @cached_property
    def by_subwindow(self) -> tuple[str, ...]:
        """Names of those that count by sub-windows."""
        names = {name for name, signature in self.by_name.items() if signature.by_subwindow}
        return (*names, *(name for name, means in self.synonyms.items() if means in names))

    def and_also(self, more: Iterable[Signature]) -> Signatures:
        """These and more, which take the place of those with the same name."""
        return replace(
            self, by_name={**self.by_name, **{signature.name: signature for signature in more}}
        )

    def canonical(self, name: str) -> str | None:
        """The aggregate a function name means, or None when it is a scalar function."""
        upper = self.synonyms.get(name.upper(), name.upper())
        return upper if upper in self.by_name or upper in LATER else None

    def ignoring_nulls(self) -> list[str]:
        """The aggregates that can be told to leave NULLs out; nearly all others do."""
        by_name = self.by_name.items()
        return [n for n, s in by_name if any(p.name == IGNORE_NULLS for p in s.parameters)]

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
