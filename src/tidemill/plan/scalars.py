"""A tuple-level expression from its tree: the one place where its text and forms are made.

So equal text is equal meaning, whoever asks: group keys, arguments, conditions and joins.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from tidemill.errors import TidemillError
from tidemill.language.expressions.trees import parse_tree, to_sql
from tidemill.plan.builders import OutsideError
from tidemill.plan.expressions import Call, Literal, Node, Scalar, TableColumn
from tidemill.plan.normal_form import normal_form
from tidemill.plan.raises import needs_guard, raised_sql
from tidemill.plan.try_forms import to_spark_sql
from tidemill.plan.typed_trees import slots_by_name, type_known
from tidemill.types import BOOLEAN, Type

_ARITHMETIC = ("add", "sub", "mul", "neg", "cast")
_CONDITIONS = ("eq", "ne", "lt", "le", "gt", "ge", "same", "in", "is_null", "and", "or", "not")
_OPERATORS = frozenset((*_ARITHMETIC, *_CONDITIONS))


def make_scalar(
    normal: exp.Expr,
    types: Mapping[str, Type],
    type: Type,
    columns: tuple[str, ...],
    joined: tuple[TableColumn, ...] = (),
) -> Scalar:
    """The scalar of a resolved tree in normal form; `types` are those of all columns."""
    if isinstance(normal, exp.Column):
        text = to_sql(normal)
        return Scalar(sql=text, try_sql=text, type=type, columns=columns, joined=joined)
    return Scalar(
        sql=to_sql(normal),
        try_sql=to_spark_sql(normal, types),
        type=type,
        columns=columns,
        joined=joined,
        raised_sql=raised_sql(normal, types),
        guarded=needs_guard(normal, types),
        node=computed_node(normal, types, type),
    )


def normal_text(text: str, types: Mapping[str, Type]) -> str:
    """The text of the scalar that an expression makes."""
    return to_sql(normal_form(parse_tree(text), types))


def restate(scalar: Scalar, types: Mapping[str, Type]) -> Scalar:
    """A scalar that an earlier release may have written, as it is made now."""
    normal = normal_form(parse_tree(scalar.sql), types)
    return make_scalar(normal, types, scalar.type, scalar.columns, scalar.joined)


def computed_node(tree: exp.Expr, types: Mapping[str, Type], kind: Type) -> Node | None:
    """The typed tree of an expression that arrays compute; None if they leave it to Catalyst.

    They take `+`, `-`, `*`, comparisons and what joins them, over integers, floats and truth
    values.

    >>> from tidemill.types import BIGINT, parse_type
    >>> types = {"length": BIGINT, "price": parse_type("DECIMAL(9,2)")}
    >>> print(computed_node(parse_tree("length * 8"), types, BIGINT))
    mul(length, cast(8 AS BIGINT))
    >>> print(computed_node(parse_tree("price + 1"), types, parse_type("DECIMAL(11,2)")))
    None
    """
    try:
        node = type_known(tree, slots_by_name(types))
    except (OutsideError, TidemillError):
        return None
    return node if node.type == kind and _is_computed(node) else None


def _is_computed(node: Node) -> bool:
    if isinstance(node, Call):
        return node.op in _OPERATORS and _is_plain(node.type) and all(map(_is_operand, node.args))
    return _is_operand(node)


def _is_operand(node: Node) -> bool:
    if isinstance(node, Call):
        return _is_float_constant(node) or _is_computed(node)
    return _is_plain(node.type)


def _is_float_constant(node: Call) -> bool:
    """A constant such as 1.5, which SQL reads as a decimal, where it meets a float."""
    return node.op == "cast" and node.type.is_float and isinstance(node.args[0], Literal)


def _is_plain(kind: Type) -> bool:
    return kind.is_integer or kind.is_float or kind == BOOLEAN
