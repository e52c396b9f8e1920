"""What an expression is where all columns are NULL, as those of a side without rows are.

>>> from tidemill.language.expressions.trees import parse_tree
>>> print(of_nulls(parse_tree("x > 1")), of_nulls(parse_tree("x IS NULL OR y > 1")))
None True
>>> of_nulls(parse_tree("COALESCE(x, 0)")), of_nulls(parse_tree("COALESCE(x, 0) > 5"))
(Decimal('0'), False)
>>> of_nulls(parse_tree("f(x)"))
<NullOutcome.UNKNOWN: 'unknown'>
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import Enum
from typing import Any

from sqlglot import exp


class NullOutcome(Enum):
    """In place of a value that cannot be told."""

    UNKNOWN = "unknown"


OfNulls = None | bool | Decimal | str | NullOutcome

# NULL wherever an operand is.
_STRICT = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe, exp.BitwiseNot),
    *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.Cast, exp.TryCast),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.RegexpLike),
    *(exp.Extract, exp.Dot, exp.Bracket),
)
_STRICT_FUNCTIONS = frozenset(
    (
        "ABS CEIL CEILING FLOOR ROUND SIGN SQRT EXP LN LOG2 LOG10 POW POWER MOD PMOD NEGATIVE "
        "UPPER LOWER UCASE LCASE LENGTH LEN CHAR_LENGTH TRIM LTRIM RTRIM SUBSTRING SUBSTR LEFT "
        "RIGHT REVERSE REPLACE CONCAT YEAR MONTH DAY HOUR MINUTE SECOND DATE_TRUNC TO_DATE "
        "TRY_ADD TRY_SUBTRACT TRY_MULTIPLY TRY_DIVIDE SPLIT_PART STARTSWITH ENDSWITH CONTAINS"
    ).split()
)
_NO_OPERANDS = (exp.DataType, exp.Identifier, exp.Var)
_ORDER: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}


def of_nulls(tree: exp.Expr) -> OfNulls:
    """The value of a resolved tree over columns that are all NULL, as far as it can be told."""
    rule = next((_RULES[kind] for kind in type(tree).__mro__ if kind in _RULES), _strict)
    return rule(tree)


def truth_of_nulls(tree: exp.Expr) -> bool | None:
    """Whether a condition passes such rows; None if it cannot be told."""
    value = of_nulls(tree)
    return None if isinstance(value, NullOutcome) else value is True


def _strict(tree: exp.Expr) -> OfNulls:
    if not isinstance(tree, _STRICT):
        return NullOutcome.UNKNOWN
    operands = [part for part in tree.iter_expressions() if not isinstance(part, _NO_OPERANDS)]
    return _null_of_any(operands)


def _null_of_any(operands: Iterable[exp.Expr]) -> OfNulls:
    return None if any(of_nulls(operand) is None for operand in operands) else NullOutcome.UNKNOWN


def _literal(tree: exp.Expr) -> OfNulls:
    return str(tree.this) if tree.args.get("is_string") else Decimal(str(tree.this))


def _compared(tree: exp.Expr) -> OfNulls:
    left, right = of_nulls(tree.this), of_nulls(tree.expression)
    if left is None or right is None:
        return None
    is_known = isinstance(left, Decimal | str) and type(left) is type(right)
    return _ORDER[type(tree)](left, right) if is_known else NullOutcome.UNKNOWN


def _called(tree: exp.Expr) -> OfNulls:
    name, arguments = str(tree.name).upper(), tree.expressions
    if name in ("COALESCE", "NVL", "IFNULL"):
        return next((v for v in map(of_nulls, arguments) if v is not None), None)
    if name in ("ISNULL", "ISNOTNULL") and len(arguments) == 1:
        is_null = _is_null(of_nulls(arguments[0]))
        return is_null if name == "ISNULL" else _opposite(is_null)
    if name == "IF" and len(arguments) == 3:
        condition, yes, no = arguments
        return _chosen(condition, yes, lambda: of_nulls(no))
    return _null_of_any(arguments) if name in _STRICT_FUNCTIONS else NullOutcome.UNKNOWN


def _opposite(value: OfNulls) -> OfNulls:
    return not value if isinstance(value, bool) else value


def _is_null(value: OfNulls) -> OfNulls:
    return NullOutcome.UNKNOWN if value is NullOutcome.UNKNOWN else value is None


def _joined(tree: exp.Expr) -> OfNulls:
    """AND is false where either side is, OR true; else what is not known goes before NULL."""
    deciding = isinstance(tree, exp.Or)
    values = [of_nulls(tree.this), of_nulls(tree.expression)]
    if any(value is deciding for value in values):
        return deciding
    if any(isinstance(value, NullOutcome) for value in values):
        return NullOutcome.UNKNOWN
    return None if None in values else not deciding


def _is(tree: exp.Expr) -> OfNulls:
    value = of_nulls(tree.this)
    if not isinstance(tree.expression, exp.Boolean):
        return _is_null(value)
    return (
        NullOutcome.UNKNOWN
        if isinstance(value, NullOutcome)
        else value is bool(tree.expression.this)
    )


def _same(tree: exp.Expr) -> OfNulls:
    left, right = of_nulls(tree.this), of_nulls(tree.expression)
    if NullOutcome.UNKNOWN in (left, right) or (left is not None and right is not None):
        return NullOutcome.UNKNOWN
    return left is right


def _of_subject(tree: exp.Expr) -> OfNulls:
    return None if of_nulls(tree.this) is None else NullOutcome.UNKNOWN


def _case(tree: exp.Expr) -> OfNulls:
    if tree.this is not None:
        return NullOutcome.UNKNOWN
    return _first_arm(list(tree.args["ifs"]), tree.args.get("default"))


def _first_arm(arms: list[exp.Expr], default: exp.Expr | None) -> OfNulls:
    if not arms:
        return None if default is None else of_nulls(default)
    arm, *rest = arms
    return _chosen(arm.this, arm.args["true"], lambda: _first_arm(rest, default))


def _chosen(condition: exp.Expr, yes: exp.Expr, no: Callable[[], OfNulls]) -> OfNulls:
    passes = truth_of_nulls(condition)
    if passes is None:
        return NullOutcome.UNKNOWN
    return of_nulls(yes) if passes else no()


_RULES: dict[type[exp.Expr], Callable[[exp.Expr], OfNulls]] = {
    exp.Paren: lambda tree: of_nulls(tree.this),
    exp.Column: lambda _: None,
    exp.Null: lambda _: None,
    exp.Boolean: lambda tree: bool(tree.this),
    exp.Literal: _literal,
    exp.Not: lambda tree: _opposite(of_nulls(tree.this)),
    exp.And: _joined,
    exp.Or: _joined,
    exp.Is: _is,
    exp.NullSafeEQ: _same,
    exp.In: _of_subject,
    exp.Between: _of_subject,
    exp.Case: _case,
    exp.Anonymous: _called,
    **dict.fromkeys(_ORDER, _compared),
}
