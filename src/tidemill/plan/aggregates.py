"""Which aggregates there are, and the type of each over each type, as Spark has them."""

from __future__ import annotations

from tidemill.errors import Place, listing, refuse
from tidemill.types import BIGINT, DOUBLE, STRING, Type

# Digits of a decimal, and how many a sum has more than what it adds up.
MAX_DIGITS, SUM_DIGITS = 38, 10
BUILT = ("COUNT", "SUM", "AVG", "MIN", "MAX")
SYNONYMS = {"MEAN": "AVG"}
# Aggregates of Spark and of the language page that are refused by name, so that the user
# is not told about an ungrouped column instead.
LATER = frozenset(
    (
        "VARIANCE VAR_SAMP VAR_POP STDDEV STD STDDEV_SAMP STDDEV_POP FIRST LAST FIRST_VALUE "
        "LAST_VALUE MEDIAN PERCENTILE PERCENTILE_APPROX TOP FREQUENT APPROX_COUNT_DISTINCT "
        "APPROX_PERCENTILE APPROX_TOP_K APPROX_COUNT COLLECT COLLECT_LIST COLLECT_SET "
        "ARRAY_AGG COUNT_IF BOOL_AND BOOL_OR EVERY ANY SOME ANY_VALUE MAX_BY MIN_BY CORR "
        "COVAR_POP COVAR_SAMP SKEWNESS KURTOSIS MODE BIT_AND BIT_OR BIT_XOR TRY_SUM TRY_AVG "
        "HISTOGRAM_NUMERIC LISTAGG STRING_AGG REGR_COUNT REGR_SLOPE GROUPING GROUPING_ID "
        "HLL_SKETCH_AGG COUNT_MIN_SKETCH"
    ).split()
)


def canonical(name: str) -> str | None:
    """The aggregate a function name means, or None when it is a scalar function."""
    upper = SYNONYMS.get(name.upper(), name.upper())
    return upper if upper in BUILT or upper in LATER else None


def refuse_unbuilt(function: str, place: Place | None) -> None:
    if function in LATER:
        refuse(
            "E_NOT_BUILT",
            f"aggregate {function} is not built yet",
            detail=listing("aggregates", BUILT),
            place=place,
        )


def cast_argument(function: str, argument: Type) -> Type | None:
    """The type Spark first casts the argument to, if any: it adds up text as DOUBLE."""
    return DOUBLE if function in ("SUM", "AVG") and argument == STRING else None


def result_type(function: str, argument: Type | None, place: Place | None) -> Type:
    if function == "COUNT" or argument is None:
        return BIGINT
    if function in ("MIN", "MAX"):
        return _ordered(function, argument, place)
    if not argument.is_numeric:
        refuse("E_TYPE", f"{function} over {argument} is not defined", place=place, hint=_NUMBERS)
    if argument.is_decimal:
        return sum_type(argument) if function == "SUM" else _mean_type(argument)
    return BIGINT if function == "SUM" and argument.is_integer else DOUBLE


_NUMBERS = "SUM and AVG take numbers; MIN, MAX and COUNT take any plain type"


def sum_type(argument: Type) -> Type:
    """The type in which Spark adds up decimals."""
    return Type("DECIMAL", min(MAX_DIGITS, argument.precision + SUM_DIGITS), argument.scale)


def _mean_type(argument: Type) -> Type:
    digits = min(MAX_DIGITS, argument.precision + 4)
    return Type("DECIMAL", digits, min(MAX_DIGITS, argument.scale + 4))


def _ordered(function: str, argument: Type, place: Place | None) -> Type:
    if not argument.is_atomic or argument.name == "VOID":
        refuse("E_TYPE", f"{function} over {argument} is not built", place=place, hint=_NUMBERS)
    return argument
