"""What the constants of aggregates may be; each check says what is wrong, or nothing."""

from __future__ import annotations

from decimal import Decimal

from tidemill.plan.expressions import Value

MOST_ITEMS = 10_000


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


def _is_truth(value: Value) -> bool:
    """TRUE and FALSE are whole numbers to Python, and none to SQL."""
    return isinstance(value, bool)
