"""The digits in which Spark adds up decimals."""

from __future__ import annotations

from tidemill.types import Type

# Digits of a decimal, and how many a sum has more than what it adds up.
MAX_DIGITS, SUM_DIGITS = 38, 10


def sum_type(argument: Type) -> Type:
    """The type in which Spark adds up decimals."""
    return Type("DECIMAL", min(MAX_DIGITS, argument.precision + SUM_DIGITS), argument.scale)
