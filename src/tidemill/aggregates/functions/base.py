"""An aggregate function: how it is called, which lanes it keeps, and what it makes of them.

A function is a class in a file of its own. One that needs a partial which no lane has declares
a class of `Lane` beside it. `functions/__init__.py` lists the functions, and nothing else has to
know them by name.

Below it stand types and constants that many functions take.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

from tidemill.aggregates.lanes import Lane, PlainRow, PlainWindow
from tidemill.aggregates.lowering import CombinedLanes, Lowered, Numbers
from tidemill.plan.expressions import Value
from tidemill.plan.functions import Parameter, Signature
from tidemill.plan.query import AggregateCall
from tidemill.types import BIGINT, DOUBLE, STRING, Type


class Function(ABC):
    """An aggregate as SQL calls it; it has no state, and a call has all that differs."""

    signature: ClassVar[Signature]
    synonyms: ClassVar[tuple[str, ...]] = ()
    sibling: ClassVar[str] = ""  # the function that answers the same from bounded memory

    @abstractmethod
    def lanes(self, call: AggregateCall) -> tuple[Lane, ...]:
        """The lanes that the call is lowered from."""

    def gives_numbers(self, call: AggregateCall) -> bool:
        """True if NumPy keeps the result as it is: `lower_numbers` then makes it, else `lower`."""
        kind = call.slot.type
        return not (kind.is_decimal or kind.inner or kind.name in ("STRING", "BINARY"))

    def may_raise(self, call: AggregateCall) -> bool:
        """False if Spark has a result for it whatever the values: `lower_numbers` never says
        otherwise."""
        return True

    def lower_numbers(self, call: AggregateCall, lanes: CombinedLanes) -> Numbers:
        """The values as lanes keep them: whole numbers in 64 bits, floats as doubles."""
        raise NotImplementedError(f"{call.sql} gives no numbers")

    def lower(self, call: AggregateCall, lanes: CombinedLanes) -> Lowered:
        """The values of results that are no plain numbers."""
        raise NotImplementedError(f"{call.sql} gives numbers")

    @abstractmethod
    def reference(self, call: AggregateCall, rows: Sequence[PlainRow], window: PlainWindow) -> Any:
        """The value over the rows of one window and group, in the plainest way.

        `rows` have the arguments of the call.
        """


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


def true_or_false(value: Value) -> str:
    return "" if _is_truth(value) else "it is TRUE or FALSE"


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
