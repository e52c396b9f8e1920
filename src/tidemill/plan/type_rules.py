"""Types: what a constant has, where two operands meet, what comes out, by Spark's ANSI rules.

A rule answers None where Spark converts in a way not taken over here (text to number, date to
timestamp, decimals whose common type would lose digits); such expressions are left to Spark.

>>> from tidemill.types import INT, parse_type
>>> str(decimal_result("div", parse_type("decimal(10,2)"), parse_type("decimal(10,2)")))
'DECIMAL(23,13)'
>>> str(common_type(INT, parse_type("decimal(5,2)")))
'DECIMAL(12,2)'
>>> str(numeric("0.05", negative=True).type)
'DECIMAL(2,2)'
>>> str(numeric("3000000000").type)
'BIGINT'
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal

from tidemill.plan.expressions import Literal
from tidemill.types import BIGINT, DATE, DOUBLE, INT, INTEGER_BITS, STRING, TIMESTAMP, VOID, Type

MAX_DIGITS = 38
# Spark keeps at least this many digits of a fraction when a result would need more than 38.
_KEPT_SCALE = 6
_INTEGER_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
_COMPARED = ("BOOLEAN", "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,6})?")
_WHOLE = re.compile(r"\d+")
_PLAIN = re.compile(r"\d+\.\d*|\.\d+")
_SCIENTIFIC = re.compile(r"(\d+(\.\d*)?|\.\d+)[eE][+-]?\d+")


def decimal_type(precision: int, scale: int) -> Type:
    return Type("DECIMAL", precision, scale)


def integer_as_decimal(integer: Type) -> Type:
    """The decimal that holds every value of an integer type."""
    return decimal_type(_INTEGER_DIGITS[integer.name], 0)


def common_type(left: Type, right: Type) -> Type | None:
    """The common type of two in CASE, COALESCE, IN and comparisons; lossless for decimals."""
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if not (left.is_numeric and right.is_numeric):
        return None
    if left.is_integer and right.is_integer:
        return max(left, right, key=lambda each: INTEGER_BITS[each.name])
    if left.is_float or right.is_float:
        return DOUBLE
    return _wider_decimal(*(_as_decimal(each) for each in (left, right)))


def common_type_of(types: Iterable[Type]) -> Type | None:
    """The common type of all of them."""
    meeting: Type | None = VOID
    for candidate in types:
        meeting = None if meeting is None else common_type(meeting, candidate)
    return meeting


def comparable_type(left: Type, right: Type) -> Type | None:
    """The type in which two operands are compared, if it has an order known here."""
    meeting = common_type(left, right)
    known = meeting is not None and (meeting.is_numeric or meeting.name in _COMPARED)
    return meeting if known else None


def arithmetic_type(left: Type, right: Type) -> Type | None:
    """The type in which + - * % work, for numbers that are not two exact ones with a decimal."""
    return common_type(left, right) if left.is_numeric and right.is_numeric else None


def decimal_result(op: str, left: Type, right: Type) -> Type:
    """Result of arithmetic on two decimals, with Spark's cut to 38 digits."""
    digits = max(left.precision - left.scale, right.precision - right.scale)
    scale = max(left.scale, right.scale)
    if op in ("add", "sub"):
        return _adjusted(digits + scale + 1, scale)
    if op == "mul":
        return _adjusted(left.precision + right.precision + 1, left.scale + right.scale)
    if op == "div":
        scale = max(_KEPT_SCALE, left.scale + right.precision + 1)
        return _adjusted(left.precision - left.scale + right.scale + scale, scale)
    digits = min(left.precision - left.scale, right.precision - right.scale)
    return _adjusted(digits + scale, scale)


def rounded_type(operand: Type, digits: int) -> Type:
    """The type of `ROUND(operand, digits)`; a decimal gains a digit for the carry."""
    if not operand.is_decimal:
        return operand
    integral = operand.precision - operand.scale + 1
    if digits < 0:
        return decimal_type(min(max(integral, 1 - digits), MAX_DIGITS), 0)
    scale = min(operand.scale, digits)
    return decimal_type(min(integral + scale, MAX_DIGITS), scale)


def can_cast(source: Type, target: Type) -> bool:
    """Casts done on arrays with exactly Spark's result."""
    if source == target:
        return True
    if target == STRING:
        return source.is_integer or source.name == "BOOLEAN"
    # Spark's optimiser leaves FLOAT out on the way from an integer to DOUBLE, or does not.
    if target.name == "FLOAT" and (source.is_decimal or source.name in ("INT", "BIGINT")):
        return False
    # Spark goes through the decimal text of a double, which differs between Java versions.
    if source.is_float and target.is_decimal:
        return False
    return all(each.is_numeric or each.name == "BOOLEAN" for each in (source, target))


def _as_decimal(each: Type) -> Type:
    return integer_as_decimal(each) if each.is_integer else each


def _wider_decimal(left: Type, right: Type) -> Type | None:
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    return decimal_type(precision, scale) if precision <= MAX_DIGITS else None


def _adjusted(precision: int, scale: int) -> Type:
    if precision <= MAX_DIGITS:
        return decimal_type(precision, scale)
    kept = max(MAX_DIGITS - (precision - scale), min(scale, _KEPT_SCALE))
    return decimal_type(MAX_DIGITS, kept)


def numeric(text: str, *, negative: bool = False) -> Literal | None:
    """A numeric literal; the sign belongs to it, as the smallest integers need."""
    signed = f"-{text}" if negative else text
    if _WHOLE.fullmatch(text):
        return _integer(int(signed))
    if _SCIENTIFIC.fullmatch(text):
        return Literal(float(signed), DOUBLE)
    return _decimal(Decimal(signed)) if _PLAIN.fullmatch(text) else None


def moment(text: str, target: Type) -> Literal | None:
    """A DATE or TIMESTAMP constant, for text in the one full form."""
    try:
        if target == DATE and _DATE.fullmatch(text):
            return Literal(date.fromisoformat(text), DATE)
        if target == TIMESTAMP and _TIMESTAMP.fullmatch(text):
            return Literal(datetime.fromisoformat(text).replace(tzinfo=UTC), TIMESTAMP)
    except ValueError:
        return None
    return None


def minimal_decimal(value: int) -> Type:
    """The decimal Spark takes for an integer literal that meets a decimal in arithmetic."""
    return decimal_type(len(str(abs(value))), 0)


def _integer(value: int) -> Literal | None:
    for integer, bits in ((INT, 32), (BIGINT, 64)):
        if -(1 << bits - 1) <= value < 1 << bits - 1:
            return Literal(value, integer)
    return _decimal(Decimal(value))


def _decimal(value: Decimal) -> Literal | None:
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    # Zeros in front do not count, as in Java's BigDecimal.
    significant = len(str(int("".join(map(str, digits)))))
    precision = max(significant, scale)
    return Literal(value, decimal_type(precision, scale)) if precision <= MAX_DIGITS else None
