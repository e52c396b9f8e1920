"""Types and constants that many aggregate functions take."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

from tidemill.plan.expressions import Value
from tidemill.plan.functions import Parameter
from tidemill.types import BIGINT, DOUBLE, STRING, Type

MOST_ITEMS = 10_000


def is_any(_: Type) -> bool:
    return True


def is_number(kind: Type) -> bool:
    return kind.is_numeric


def is_plain(kind: Type) -> bool:
    return kind.is_atomic and kind.name != "VOID"


def text_as_double(kind: Type) -> Type | None:
    """Spark takes text for numbers where it needs some."""
    return DOUBLE if kind == STRING else None


def itself(kind: Type) -> Type:
    return kind


def bigint(_: Type) -> Type:
    return BIGINT


def double(_: Type) -> Type:
    return DOUBLE


# Checks of constants: each says what is wrong, as the end of a sentence, or nothing.


def fraction(value: Value) -> str:
    if isinstance(value, int | Decimal) and not _is_truth(value) and 0 <= value <= 1:
        return ""
    return "it is a number between 0 and 1"


def length_of_time(value: Value) -> str:
    """A duration as text; whether it fits the window is known where the window is."""
    return "" if isinstance(value, str) else "it is a duration such as '5 seconds'"


def number_of_items(value: Value) -> str:
    if isinstance(value, int) and not _is_truth(value) and 1 <= value <= MOST_ITEMS:
        return ""
    return f"it is a whole number from 1 to {MOST_ITEMS}"


def error_between(least: str, most: str, default: str) -> Parameter:
    """The constant `error` of a function that estimates."""
    wrong = partial(_error, least=Decimal(least), most=Decimal(most))
    return Parameter("error", wrong, Decimal(default), is_required=False)


def _error(value: Value, least: Decimal, most: Decimal) -> str:
    if isinstance(value, int | Decimal) and least <= value <= most:
        return ""
    text = f"it lies between {least} and {most}"
    if isinstance(value, int) and value >= 1 / most:
        text += f"; Spark's accuracy {value} is error => {Decimal(1) / value:f}"
    return text


def _is_truth(value: Value) -> bool:
    """TRUE and FALSE are whole numbers to Python, and none to SQL."""
    return isinstance(value, bool)


def whole_constant(value: Value) -> int:
    """A constant that its check has found to be whole."""
    assert isinstance(value, int)
    return value
