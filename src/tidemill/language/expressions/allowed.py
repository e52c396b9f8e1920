"""Which syntax an expression may hold; anything else is refused at its place."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tidemill.errors import Place, listing, refuse
from tidemill.language.not_built import refuse_not_built
from tidemill.types import TYPE_NAMES

PlaceOf = Callable[[exp.Expr], Place]

_NODES = frozenset(
    (
        *(exp.Column, exp.Identifier, exp.Literal, exp.HexString, exp.Null, exp.Boolean, exp.Var),
        *(exp.Anonymous, exp.Distinct, exp.Filter, exp.Where, exp.WithinGroup, exp.Order),
        *(exp.Ordered, exp.IgnoreNulls, exp.RespectNulls, exp.Lambda, exp.Kwarg, exp.Alias),
        *(exp.Paren, exp.Tuple, exp.Neg, exp.BitwiseNot, exp.Not, exp.And, exp.Or),
        *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
        *(exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape),
        *(exp.Any, exp.All, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe),
        *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.Cast, exp.TryCast, exp.Case, exp.If),
        *(exp.Bracket, exp.Dot, exp.Extract, exp.Interval, exp.IntervalSpan),
        *(exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.Star),
    )
)
_TYPES = frozenset(
    (
        *(exp.DType.BOOLEAN, exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT),
        *(exp.DType.BIGINT, exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL),
        *(exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.BINARY, exp.DType.DATE),
        *(exp.DType.TIME, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ),
        *(exp.DType.TIMESTAMPNTZ, exp.DType.INTERVAL, exp.DType.VARIANT, exp.DType.NULL),
        *(exp.DType.ARRAY, exp.DType.MAP, exp.DType.STRUCT),
    )
)


def check_tree(tree: exp.Expr, text: str, place_of: PlaceOf) -> None:
    """Refuses the first node that is no part of the language."""
    if query := tree.find(exp.Query, exp.Exists):
        refuse_not_built("a subquery", text, place_of(query))
    for node in tree.walk():
        if isinstance(node, exp.Window):
            refuse_not_built("OVER", text, place_of(node))
        if type(node) is exp.DataType:
            _check_type(node, text, place_of(tree))
        if type(node) not in _NODES or not _fits(node):
            refuse("E_SYNTAX", "cannot read this expression", text=text, place=place_of(node))


def _fits(node: exp.Expr) -> bool:
    """Whether an allowed node stands where it may, without the extras of other dialects."""
    if isinstance(node, exp.Star):
        return isinstance(node.parent, (exp.Anonymous, type(None))) and not any(node.args.values())
    if isinstance(node, exp.In):
        return bool(node.expressions)
    if isinstance(node, exp.Bracket):
        return len(node.expressions) == 1
    if isinstance(node, exp.Identifier):
        return bool(node.name)
    if isinstance(node, exp.Between):
        return node.args.get("symmetric") is None
    return True


def _check_type(node: exp.Expr, text: str, place: Place) -> None:
    inside = isinstance(node.parent, (exp.Cast, exp.DataType, exp.ColumnDef, type(None)))
    if not inside or (node.this not in _TYPES and not isinstance(node.this, exp.Interval)):
        hint = listing("types", TYPE_NAMES)
        refuse("E_UNKNOWN_TYPE", "no such data type", hint=hint, text=text, place=place)
