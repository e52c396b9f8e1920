"""One operator on typed operands: the casts Spark would insert, and the type that comes out.

Each function returns the typed call or raises `OutsideError` where the operands are not among
those evaluated here.

>>> from tidemill.types import DOUBLE, INT
>>> from tidemill.plan.expressions import Slot
>>> print(arithmetic("add", Slot("i", INT), Slot("d", DOUBLE)))
add(cast(i AS DOUBLE), d)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidemill.plan.expressions import Call, Literal, Node, cast
from tidemill.plan.type_rules import (
    arithmetic_type,
    can_cast,
    common_type_of,
    comparable_type,
    decimal_result,
    integer_as_decimal,
    minimal_decimal,
    rounded_type,
)
from tidemill.types import BIGINT, BOOLEAN, DOUBLE, INT, VOID, Type

# Beyond this ROUND changes nothing a double or a decimal could show.
_MOST_ROUND_DIGITS = 38
# Spark changes the sign of a decimal through 34 digits and rounds what is longer.
_EXACTLY_NEGATED_DIGITS = 34


class OutsideError(Exception):
    """The expression is outside the set evaluated here."""


def require(found: Type | None) -> Type:
    """The type a rule found, or `OutsideError` where it found none."""
    if found is None:
        raise OutsideError
    return found


def sign_change(op: str, operand: Node) -> Node:
    """`neg` or `abs`."""
    if not operand.type.is_numeric or operand.type.precision > _EXACTLY_NEGATED_DIGITS:
        raise OutsideError
    return Call(op, (operand,), operand.type)


def arithmetic(op: str, left: Node, right: Node) -> Node:
    """`add`, `sub`, `mul`, `mod`, or `div`, whose result is never an integer."""
    if _is_decimal_pair(left.type, right.type):
        left, right = _to_decimal(left), _to_decimal(right)
        return Call(op, (left, right), decimal_result(op, left.type, right.type))
    meeting = require(arithmetic_type(left.type, right.type))
    meeting = DOUBLE if op == "div" else meeting
    return Call(op, (cast(left, meeting), cast(right, meeting)), meeting)


def whole_division(left: Node, right: Node) -> Node:
    """DIV of integers."""
    if not (left.type.is_integer and right.type.is_integer):
        raise OutsideError
    return Call("whole_div", (cast(left, BIGINT), cast(right, BIGINT)), BIGINT)


def comparison(op: str, left: Node, right: Node) -> Node:
    meeting = require(comparable_type(left.type, right.type))
    return Call(op, (cast(left, meeting), cast(right, meeting)), BOOLEAN)


def truth(node: Node) -> Node:
    """A condition: a boolean, or NULL taken as one."""
    if node.type not in (BOOLEAN, VOID):
        raise OutsideError
    return cast(node, BOOLEAN)


def membership(subject: Node, members: Sequence[Node]) -> Node:
    """IN a list of constants."""
    if not members or not all(isinstance(member, Literal) for member in members):
        raise OutsideError
    sides = (subject, *members)
    meeting = require(common_type_of(side.type for side in sides))
    require(comparable_type(meeting, meeting))
    return Call("in", tuple(cast(side, meeting) for side in sides), BOOLEAN)


def choice(tests: Sequence[Node], values: Sequence[Node], default: Node | None) -> Node:
    """CASE WHEN test THEN value … ELSE default END."""
    results = [*values, default] if default is not None else list(values)
    meeting = require(common_type_of(result.type for result in results))
    arms = [
        part
        for test, value in zip(tests, values, strict=True)
        for part in (truth(test), cast(value, meeting))
    ]
    otherwise = [cast(default, meeting)] if default is not None else []
    return Call("case", (*arms, *otherwise), meeting)


def conversion(operand: Node, target: Type, *, tried: bool) -> Node:
    """An explicit CAST or TRY_CAST."""
    if operand.type in (VOID, target):
        return cast(operand, target)
    if not can_cast(operand.type, target):
        raise OutsideError
    return Call("try_cast" if tried else "cast", (operand,), target)


def function(name: str, args: Sequence[Node]) -> Node:
    """A call by name."""
    for (function, count), build in _FUNCTIONS.items():
        if function == name.upper() and count == len(args):
            return build(*args)
    if name.upper() == "COALESCE" and args:
        return _coalesce(*args)
    raise OutsideError


def _is_decimal_pair(left: Type, right: Type) -> bool:
    exact = all(each.is_integer or each.is_decimal for each in (left, right))
    return exact and (left.is_decimal or right.is_decimal)


def _to_decimal(node: Node) -> Node:
    if node.type.is_decimal:
        return node
    if isinstance(node, Literal) and isinstance(node.value, int):
        return cast(node, minimal_decimal(node.value))
    return cast(node, integer_as_decimal(node.type))


def _round(operand: Node, digits: Node) -> Node:
    if not (isinstance(digits, Literal) and isinstance(digits.value, int)):
        raise OutsideError
    # Left of the point a double's rounding hangs on how Java writes it.
    lowest = 0 if operand.type.is_float else 1 - _MOST_ROUND_DIGITS
    if not operand.type.is_numeric or not lowest <= digits.value <= _MOST_ROUND_DIGITS:
        raise OutsideError
    return Call("round", (operand, digits), rounded_type(operand.type, digits.value))


def _coalesce(*args: Node) -> Node:
    meeting = require(common_type_of(each.type for each in args))
    return Call("coalesce", tuple(cast(each, meeting) for each in args), meeting)


def _nullif(left: Node, right: Node) -> Node:
    return choice([comparison("eq", left, right)], [Literal(None, VOID)], left)


_FUNCTIONS: dict[tuple[str, int], Callable[..., Node]] = {
    ("ABS", 1): lambda operand: sign_change("abs", operand),
    ("ROUND", 1): lambda operand: _round(operand, Literal(0, INT)),
    ("ROUND", 2): _round,
    ("NVL", 2): _coalesce,
    ("IFNULL", 2): _coalesce,
    ("IF", 3): lambda test, value, default: choice([test], [value], default),
    ("NULLIF", 2): _nullif,
    ("MOD", 2): lambda left, right: arithmetic("mod", left, right),
}
