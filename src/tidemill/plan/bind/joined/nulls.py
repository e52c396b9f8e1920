"""What an expression is where all columns are NULL, as those of a side without rows are.

>>> from tidemill.language.expressions.trees import parse_tree
>>> of_nulls(parse_tree("x > 1")), of_nulls(parse_tree("x IS NULL OR y > 1"))
(<OfNulls.NULL: 'null'>, <OfNulls.TRUE: 'true'>)
>>> of_nulls(parse_tree("COALESCE(x, 0)")), of_nulls(parse_tree("f(x)"))
(<OfNulls.VALUE: 'value'>, <OfNulls.UNKNOWN: 'unknown'>)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from sqlglot import exp

# NULL wherever an operand is.
_STRICT = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe, exp.BitwiseNot),
    *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.Cast, exp.TryCast),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.RegexpLike),
    *(exp.Between, exp.Extract, exp.Dot, exp.Bracket),
)
_STRICT_FUNCTIONS = frozenset(
    (
        "ABS CEIL CEILING FLOOR ROUND SIGN SQRT EXP LN LOG2 LOG10 POW POWER MOD PMOD NEGATIVE "
        "UPPER LOWER UCASE LCASE LENGTH LEN CHAR_LENGTH TRIM LTRIM RTRIM SUBSTRING SUBSTR LEFT "
        "RIGHT REVERSE REPLACE CONCAT YEAR MONTH DAY HOUR MINUTE SECOND DATE_TRUNC TO_DATE "
        "TRY_ADD TRY_SUBTRACT TRY_MULTIPLY TRY_DIVIDE SPLIT_PART STARTSWITH ENDSWITH CONTAINS"
    ).split()
)
_CHOICES = ("COALESCE", "NVL", "IFNULL")


class OfNulls(Enum):
    """The outcome: NULL, a truth value, another value, or what cannot be told."""

    NULL = "null"
    TRUE = "true"
    FALSE = "false"
    VALUE = "value"
    UNKNOWN = "unknown"

    @property
    def truth(self) -> bool | None:
        """Whether a condition passes rows; None if it cannot be told."""
        return None if self is OfNulls.UNKNOWN else self is OfNulls.TRUE


def of_nulls(tree: exp.Expr) -> OfNulls:
    """The outcome of a resolved tree over columns that are all NULL."""
    if isinstance(tree, exp.Paren):
        return of_nulls(tree.this)
    if isinstance(tree, exp.Column | exp.Null):
        return OfNulls.NULL
    if isinstance(tree, exp.Boolean):
        return _truth(bool(tree.this))
    if isinstance(tree, exp.Literal):
        return OfNulls.VALUE
    if isinstance(tree, exp.Not):
        return _negated(of_nulls(tree.this))
    if isinstance(tree, exp.And | exp.Or):
        return _joined(tree)
    if isinstance(tree, exp.Is):
        return _is(tree)
    if isinstance(tree, exp.NullSafeEQ):
        return _same(of_nulls(tree.this), of_nulls(tree.expression))
    if isinstance(tree, exp.In) and of_nulls(tree.this) is OfNulls.NULL:
        return OfNulls.NULL
    if isinstance(tree, exp.Case):
        return _case(tree)
    return _called(tree)


def _called(tree: exp.Expr) -> OfNulls:
    """An operator or a function of its operands."""
    name = str(tree.name).upper() if isinstance(tree, exp.Anonymous) else ""
    if name in _CHOICES:
        return _first(map(of_nulls, tree.expressions))
    if name in ("ISNULL", "ISNOTNULL") and len(tree.expressions) == 1:
        is_null = _same(of_nulls(tree.expressions[0]), OfNulls.NULL)
        return is_null if name == "ISNULL" else _negated(is_null)
    if name == "IF" and len(tree.expressions) == 3:
        condition, yes, no = tree.expressions
        return _chosen(condition, yes, lambda: of_nulls(no))
    if not isinstance(tree, _STRICT) and name not in _STRICT_FUNCTIONS:
        return OfNulls.UNKNOWN
    operands = [part for part in tree.iter_expressions() if not isinstance(part, _NO_OPERANDS)]
    if any(of_nulls(operand) is OfNulls.NULL for operand in operands):
        return OfNulls.NULL
    return OfNulls.UNKNOWN


_NO_OPERANDS = (exp.DataType, exp.Identifier, exp.Var)


def _truth(value: bool) -> OfNulls:
    return OfNulls.TRUE if value else OfNulls.FALSE


def _negated(outcome: OfNulls) -> OfNulls:
    return {OfNulls.TRUE: OfNulls.FALSE, OfNulls.FALSE: OfNulls.TRUE}.get(outcome, outcome)


def _joined(tree: exp.And | exp.Or) -> OfNulls:
    """AND is false where either side is, OR true; else NULL goes before what is not known."""
    deciding, other = OfNulls.FALSE, OfNulls.TRUE
    if isinstance(tree, exp.Or):
        deciding, other = other, deciding
    sides = {of_nulls(tree.this), of_nulls(tree.expression)}
    if deciding in sides:
        return deciding
    if sides == {other}:
        return other
    return OfNulls.NULL if sides <= {OfNulls.NULL, other} else OfNulls.UNKNOWN


def _is(tree: exp.Is) -> OfNulls:
    outcome = of_nulls(tree.this)
    if outcome is OfNulls.UNKNOWN:
        return outcome
    if isinstance(tree.expression, exp.Boolean):
        if outcome is OfNulls.VALUE:
            return OfNulls.UNKNOWN
        return _truth(outcome is _truth(bool(tree.expression.this)))
    return _truth(outcome is OfNulls.NULL)


def _same(left: OfNulls, right: OfNulls) -> OfNulls:
    if OfNulls.UNKNOWN in (left, right) or OfNulls.NULL not in (left, right):
        return OfNulls.UNKNOWN
    return _truth(left is right)


def _first(outcomes: Iterable[OfNulls]) -> OfNulls:
    """The first that is not NULL."""
    return next((outcome for outcome in outcomes if outcome is not OfNulls.NULL), OfNulls.NULL)


def _case(tree: exp.Case) -> OfNulls:
    if tree.this is not None:
        return OfNulls.UNKNOWN
    arms, default = list(tree.args["ifs"]), tree.args.get("default")

    def rest(place: int) -> OfNulls:
        if place < len(arms):
            arm = arms[place]
            return _chosen(arm.this, arm.args["true"], lambda: rest(place + 1))
        return OfNulls.NULL if default is None else of_nulls(default)

    return rest(0)


def _chosen(condition: exp.Expr, yes: exp.Expr, no: Callable[[], OfNulls]) -> OfNulls:
    passes = of_nulls(condition).truth
    if passes is None:
        return OfNulls.UNKNOWN
    return of_nulls(yes) if passes else no()
