"""A SQL flag that is true where Spark would have raised, beside the value that never raises.

The try_ forms give NULL both for a NULL operand and for an error, so the error is told
apart here: the result is NULL though no operand is. Branches that Spark would not have
evaluated do not count: `CASE WHEN b <> 0 THEN a / b END` never raises.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from tidemill.errors import TidemillError
from tidemill.language.names import Name
from tidemill.plan.builders import OutsideError
from tidemill.plan.expressions import Literal, Node
from tidemill.plan.try_forms import CAST_FUNCTIONS, TRY_FUNCTIONS, to_spark_sql
from tidemill.plan.typed_trees import slots_by_name, type_known
from tidemill.types import STRING, Type

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg)
_OPERATORS = (*_ARITHMETIC, exp.Cast, exp.Bracket)
# Functions that are NULL only for NULL, unless they would have raised.
_STRICT_FUNCTIONS = frozenset((*TRY_FUNCTIONS, *CAST_FUNCTIONS, "ABS", "NEGATIVE", "PMOD"))
# Functions that take text, give text or a length, and never raise: the common ones, which
# deserve to run without a guard.
_TEXT_FUNCTIONS = frozenset(
    (
        "UPPER LOWER LENGTH CHAR_LENGTH TRIM LTRIM RTRIM CONCAT SUBSTRING SUBSTR LEFT RIGHT REVERSE"
    ).split()
)
_TEXT_NODES = (exp.Like, exp.ILike, exp.And, exp.Or, exp.Not, exp.Paren, exp.Is, exp.Null)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.NullSafeEQ)


def raised_sql(tree: exp.Expr, columns: Mapping[str, Type]) -> str:
    """SQL that is true where evaluating the tree would have raised; empty if it cannot."""
    return _Flags(columns).of(tree)


def needs_guard(tree: exp.Expr, columns: Mapping[str, Type]) -> bool:
    """True if an expression outside the typed set could raise in a way no try_ form covers."""
    return not _harmless(tree, columns)


class _Flags:
    """The flag of a tree, from the flags of its parts."""

    def __init__(self, columns: Mapping[str, Type]) -> None:
        self._columns = columns

    def of(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Lambda):
            return ""  # its variables mean nothing out here; the guard around the whole counts
        if isinstance(node, exp.Case):
            return self._case(node)
        if isinstance(node, exp.And | exp.Or):
            return self._short_circuit(node)
        name = str(node.name).upper() if isinstance(node, exp.Anonymous) else ""
        if name in ("COALESCE", "NVL", "IFNULL"):
            return self._coalesce(node.expressions)
        if name in ("IF", "NVL2") and len(node.expressions) == 3:
            condition, yes, no = node.expressions
            return self._branches([(_present(condition) if name == "NVL2" else condition, yes)], no)
        return _any([*map(self.of, _children(node)), self._raised_here(node, name)])

    def _sql(self, node: exp.Expr) -> str:
        return to_spark_sql(node, self._columns)

    def _raised_here(self, node: exp.Expr, name: str) -> str:
        if not isinstance(node, _OPERATORS) and name not in _STRICT_FUNCTIONS:
            return ""
        if isinstance(_typed(node, {}), Literal):
            return ""  # a constant such as -5 or DATE '2026-01-31', worked out already
        operands = [child for child in _children(node) if not isinstance(child, exp.DataType)]
        present = [f"({self._sql(operand)}) IS NOT NULL" for operand in operands]
        return " AND ".join([f"({self._sql(node)}) IS NULL", *present])

    def _case(self, node: exp.Case) -> str:
        subject = node.this
        arms = [
            (_equal(subject, arm.this) if subject else arm.this, arm.args["true"])
            for arm in node.args["ifs"]
        ]
        return self._branches(arms, node.args.get("default"))

    def _branches(self, arms: list[tuple[exp.Expr, exp.Expr]], default: exp.Expr | None) -> str:
        if not arms:
            return self.of(default) if default is not None else ""
        (condition, value), *rest = arms
        holds = f"COALESCE({self._sql(condition)}, FALSE)"
        return _any(
            [
                self.of(condition),
                _conjunction(holds, self.of(value)),
                _conjunction(f"NOT {holds}", self._branches(rest, default)),
            ]
        )

    def _short_circuit(self, node: exp.And | exp.Or) -> str:
        left, right = node.this, node.expression
        if not (flag := self.of(right)):
            return _any([self.of(left)])
        if isinstance(node, exp.And):
            reached = f"COALESCE({self._sql(left)}, TRUE)"
        else:
            reached = f"NOT COALESCE({self._sql(left)}, FALSE)"
        return _any([self.of(left), _conjunction(reached, flag)])

    def _coalesce(self, arguments: list[exp.Expr]) -> str:
        if not arguments:
            return ""
        first, *rest = arguments
        missing = f"({self._sql(first)}) IS NULL"
        return _any([self.of(first), _conjunction(missing, self._coalesce(rest))])


def _present(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))


def _equal(subject: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.EQ(this=subject.copy(), expression=value.copy())


def _children(node: exp.Expr) -> list[exp.Expr]:
    return [child for child in node.iter_expressions() if not isinstance(child, exp.Identifier)]


def _any(flags: list[str]) -> str:
    return " OR ".join(f"({flag})" for flag in flags if flag)


def _conjunction(condition: str, flag: str) -> str:
    return f"({condition}) AND ({flag})" if flag else ""


def _typed(node: exp.Expr, columns: Mapping[str, Type]) -> Node | None:
    try:
        return type_known(node, slots_by_name(columns))
    except (OutsideError, TidemillError):
        return None


def _harmless(node: exp.Expr, columns: Mapping[str, Type]) -> bool:
    if _typed(node, columns) is not None:
        return True  # all it can raise has a try_ form
    if isinstance(node, _COMPARISONS):
        return all(_is_text(child, columns) for child in _children(node))
    if isinstance(node, _TEXT_NODES) or _is_text_function(node):
        return all(_harmless(child, columns) for child in _children(node))
    return isinstance(node, exp.Column | exp.Literal | exp.Boolean)


def _is_text_function(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.name).upper() in _TEXT_FUNCTIONS


def _is_text(node: exp.Expr, columns: Mapping[str, Type]) -> bool:
    if isinstance(node, exp.Literal):
        return bool(node.is_string)
    if isinstance(node, exp.Column):
        return columns.get(Name(node.name)) == STRING
    text_result = _is_text_function(node) and "LENGTH" not in str(node.name).upper()
    return text_result and _harmless(node, columns)
