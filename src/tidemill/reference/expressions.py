"""The slow twin of `evaluation.finish`: one row, plain Python numbers, no arrays.

Integers are Python's, decimals are fractions until the last step, FLOAT is a double rounded
after every operation. It shares the typed tree with the fast one and nothing else.

>>> from tidemill.plan.expressions import Call, Slot
>>> from tidemill.types import INT
>>> evaluate_row(Call("add", (Slot("a", INT), Slot("b", INT)), INT), {"a": 2**31 - 1, "b": 1})
(None, True)
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

from tidemill.plan.expressions import Call, Literal, Node, Slot
from tidemill.types import INTEGER_BITS, Type

SlotValues = Mapping[str, object]
Outcome = tuple[Any, bool]


class _RaisedError(Exception):
    """Spark would have stopped here."""


def evaluate_row(node: Node, row: SlotValues) -> Outcome:
    """The value for one row, and a flag that Spark in ANSI mode would have raised."""
    if isinstance(node, Slot):
        return row[node.name], False
    if isinstance(node, Literal):
        return node.value, False
    if isinstance(node, Call):
        return _LAZY[node.op](node, row) if node.op in _LAZY else _strict(node, row)
    raise TypeError(f"{node} is for Spark to evaluate")


def _strict(node: Call, row: SlotValues) -> Outcome:
    """Operators that are NULL when an operand is; a NULL ends the evaluation of operands."""
    values: list[Any] = []
    raised = False
    operands = reversed(node.args) if node.op in ("div", "mod", "whole_div") else node.args
    for operand in operands:
        value, bad = evaluate_row(operand, row)
        raised |= bad
        if value is None:
            return None, raised
        values.append(value)
    values = values[::-1] if node.op in ("div", "mod", "whole_div") else values
    try:
        return _STRICT[node.op](node, *values), raised
    except _RaisedError:
        return None, raised or node.op != "try_cast"


def _and(node: Call, row: SlotValues) -> Outcome:
    return _connect(node, row, decisive=False)


def _or(node: Call, row: SlotValues) -> Outcome:
    return _connect(node, row, decisive=True)


def _connect(node: Call, row: SlotValues, *, decisive: bool) -> Outcome:
    left, left_raised = evaluate_row(node.args[0], row)
    if left is decisive:
        return decisive, left_raised
    right, right_raised = evaluate_row(node.args[1], row)
    raised = left_raised or right_raised
    if right is decisive:
        return decisive, raised
    return (None if left is None or right is None else not decisive), raised


def _is_null(node: Call, row: SlotValues) -> Outcome:
    value, raised = evaluate_row(node.args[0], row)
    return value is None, raised


def _same(node: Call, row: SlotValues) -> Outcome:
    (left, left_raised), (right, right_raised) = (
        evaluate_row(argument, row) for argument in node.args
    )
    if left is None or right is None:
        return left is right, left_raised or right_raised
    return _compare(left, right) == 0, left_raised or right_raised


def _in(node: Call, row: SlotValues) -> Outcome:
    subject, raised = evaluate_row(node.args[0], row)
    members = [evaluate_row(member, row)[0] for member in node.args[1:]]
    if subject is None:
        return None, raised
    if any(member is not None and _compare(subject, member) == 0 for member in members):
        return True, raised
    return (None if None in members else False), raised


def _coalesce(node: Call, row: SlotValues) -> Outcome:
    raised = False
    for argument in node.args:
        value, bad = evaluate_row(argument, row)
        raised |= bad
        if value is not None:
            return value, raised
    return None, raised


def _case(node: Call, row: SlotValues) -> Outcome:
    raised = False
    for index in range(0, len(node.args) - 1, 2):
        holds, bad = evaluate_row(node.args[index], row)
        raised |= bad
        if holds:
            value, bad = evaluate_row(node.args[index + 1], row)
            return value, raised or bad
    if len(node.args) % 2 == 0:
        return None, raised
    value, bad = evaluate_row(node.args[-1], row)
    return value, raised or bad


def _compare(left: Any, right: Any) -> int:
    """Below, equal or above in Spark's order: NaN over all numbers."""
    if isinstance(left, float):
        left, right = (
            (math.isnan(value), 0.0 if math.isnan(value) else value) for value in (left, right)
        )
    return int(left > right) - int(left < right)


def _arithmetic(node: Call, left: Any, right: Any) -> Any:
    if node.op in ("div", "mod", "whole_div") and right == 0:
        raise _RaisedError
    if node.type.is_float:
        return _as_float(_FLOATS[node.op](left, right), node.type)
    exact = _EXACT[node.op](Fraction(left), Fraction(right))
    if node.op == "div":
        exact = Fraction(_half_up(exact * 10**39), 10**39)
    return _fit(exact, node.type)


def _float_remainder(left: float, right: float) -> float:
    if math.isinf(left) or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.fmod(left, right)


def _cut_quotient(left: Fraction, right: Fraction) -> Fraction:
    return Fraction(math.trunc(left / right))


def _fit(exact: Fraction, type: Type) -> int | Decimal:
    """An integer or decimal of the type, rounded half up to its scale."""
    unscaled = _half_up(exact * 10**type.scale)
    if type.is_decimal:
        if abs(unscaled) >= 10**type.precision:
            raise _RaisedError
        with localcontext(prec=100):
            return Decimal(unscaled).scaleb(-type.scale)
    bound = 1 << INTEGER_BITS[type.name] - 1
    if not -bound <= unscaled < bound:
        raise _RaisedError
    return unscaled


def _half_up(exact: Fraction) -> int:
    size = math.floor(abs(exact) + Fraction(1, 2))
    return -size if exact < 0 else size


def _as_float(value: float, type: Type) -> float:
    if type.name == "DOUBLE" or not math.isfinite(value):
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _negate(node: Call, value: Any) -> Any:
    return -value if node.type.is_float else _fit(-Fraction(value), node.type)


def _absolute(node: Call, value: Any) -> Any:
    return abs(value) if node.type.is_float else _fit(abs(Fraction(value)), node.type)


def _round(node: Call, value: Any, digits: int) -> Any:
    if not node.type.is_float:
        rounded_up = _half_up(Fraction(value) * Fraction(10) ** digits)
        return _fit(rounded_up / Fraction(10) ** digits, node.type)
    if not math.isfinite(value):
        return value
    with localcontext(prec=1200):
        rounded = Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return _as_float(float(rounded) + 0.0, node.type)


def _cast(node: Call, value: Any) -> Any:
    target = node.type
    if target.name == "STRING":
        return str(value).lower() if isinstance(value, bool) else str(value)
    if target.name == "BOOLEAN":
        return value != 0
    if target.is_float:
        return _to_float(value, target)
    if isinstance(value, float):
        return _float_to_integer(value, target)
    exact = Fraction(value)
    return _fit(Fraction(math.trunc(exact)) if target.is_integer else exact, target)


def _to_float(value: Any, target: Type) -> float:
    if isinstance(value, float):
        return _as_float(value, target)
    exact = Fraction(value)
    return exact.numerator / exact.denominator


def _float_to_integer(value: float, target: Type) -> int:
    if not math.isfinite(value):
        raise _RaisedError
    integer = math.trunc(value)
    # Spark compares with the bound as a double, which lets two to the 63rd pass as the largest.
    if target.name == "BIGINT" and integer == 1 << 63:
        return integer - 1
    result = _fit(Fraction(integer), target)
    assert isinstance(result, int)
    return result


_FLOATS: dict[str, Callable[[float, float], float]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "div": lambda left, right: left / right,
    "mod": _float_remainder,
}
_EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "div": lambda left, right: left / right,
    "mod": lambda left, right: left - right * _cut_quotient(left, right),
    "whole_div": _cut_quotient,
}
_LAZY: dict[str, Callable[[Call, SlotValues], Outcome]] = {
    "and": _and,
    "or": _or,
    "is_null": _is_null,
    "same": _same,
    "in": _in,
    "coalesce": _coalesce,
    "case": _case,
}
_STRICT: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "mod", "whole_div"), _arithmetic),
    "eq": lambda _node, left, right: _compare(left, right) == 0,
    "ne": lambda _node, left, right: _compare(left, right) != 0,
    "lt": lambda _node, left, right: _compare(left, right) < 0,
    "le": lambda _node, left, right: _compare(left, right) <= 0,
    "gt": lambda _node, left, right: _compare(left, right) > 0,
    "ge": lambda _node, left, right: _compare(left, right) >= 0,
    "not": lambda _node, value: not value,
    "neg": _negate,
    "abs": _absolute,
    "round": _round,
    "cast": _cast,
    "try_cast": _cast,
}
