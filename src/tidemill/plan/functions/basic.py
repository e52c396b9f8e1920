"""COUNT, SUM, AVG, MIN and MAX, over the types and with the results that Spark has."""

from __future__ import annotations

from tidemill.plan.functions.call_form import Signature
from tidemill.plan.functions.kinds import is_number, is_plain, itself, text_as_double, whole
from tidemill.types import BIGINT, DOUBLE, Type

# Digits of a decimal, and how many a sum has more than what it adds up.
MAX_DIGITS, SUM_DIGITS = 38, 10


def sum_type(argument: Type) -> Type:
    """The type in which Spark adds up decimals."""
    return Type("DECIMAL", min(MAX_DIGITS, argument.precision + SUM_DIGITS), argument.scale)


def _any(_: Type) -> bool:
    return True


def _sum(argument: Type) -> Type:
    if argument.is_decimal:
        return sum_type(argument)
    return BIGINT if argument.is_integer else DOUBLE


def _mean(argument: Type) -> Type:
    if not argument.is_decimal:
        return DOUBLE
    digits = min(MAX_DIGITS, argument.precision + 4)
    return Type("DECIMAL", digits, min(MAX_DIGITS, argument.scale + 4))


SIGNATURES = (
    Signature("COUNT", "any values", _any, whole),
    Signature("SUM", "numbers", is_number, _sum, text_as_double),
    Signature("AVG", "numbers", is_number, _mean, text_as_double),
    Signature("MIN", "plain values", is_plain, itself),
    Signature("MAX", "plain values", is_plain, itself),
)
