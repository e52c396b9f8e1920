"""Which values make a simple condition on one column true, and which make it false.

The two are not opposites: where a condition is NULL it is neither.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidemill.plan.coercion import common_type
from tidemill.plan.expressions import Call, Literal, Node, Slot
from tidemill.plan.predicates.domains import MIRRORED, compared, has_line
from tidemill.plan.predicates.values import EVERYTHING, NOT_NULL, NOTHING, NULL_ONLY, ValueSet
from tidemill.types import BOOLEAN, Type


@dataclass(frozen=True)
class Atom:
    """A condition on one column."""

    column: Slot
    true: ValueSet
    false: ValueSet


def read_atom(node: Node) -> Atom | None:
    """The atom that a typed condition is, if it is one."""
    if isinstance(node, Slot):
        return _flag(node) if node.type == BOOLEAN else None
    if not isinstance(node, Call):
        return None
    column = _column(node.args[0])
    if node.op == "is_null" and column is not None:
        return Atom(column, NULL_ONLY, NOT_NULL)
    if node.op == "in":
        return _membership(column, node.args[1:])
    return _comparison(node) if node.op in MIRRORED else None


def _flag(column: Slot) -> Atom:
    return Atom(column, compared("eq", True, BOOLEAN), compared("eq", False, BOOLEAN))


def _comparison(node: Call) -> Atom | None:
    op, (left, right) = node.op, node.args
    if isinstance(_bare(left), Literal):
        op, left, right = MIRRORED[op], right, left
    column, constant = _column(left), _constant(right)
    if column is None or constant is None:
        return None
    true = compared(op, constant.value, column.type)
    if op == "same":
        return Atom(column, true, EVERYTHING - true)
    return Atom(column, true, NOTHING if constant.value is None else NOT_NULL - true)


def _membership(column: Slot | None, members: tuple[Node, ...]) -> Atom | None:
    constants = [_constant(member) for member in members]
    if column is None or None in constants:
        return None
    values = [constant.value for constant in constants if constant is not None]
    true = NOTHING
    for value in values:
        true |= compared("eq", value, column.type)
    # x IN (1, NULL) is never false: x might be the unknown one.
    return Atom(column, true, NOTHING if None in values else NOT_NULL - true)


def _column(node: Node) -> Slot | None:
    """The column on one side, if comparing there is comparing on the column's own line."""
    inner = _bare(node)
    fits = isinstance(inner, Slot) and has_line(inner.type) and _is_exact(inner.type, node.type)
    return inner if isinstance(inner, Slot) and fits else None


def _constant(node: Node) -> Literal | None:
    inner = _bare(node)
    if not isinstance(inner, Literal):
        return None
    return inner if inner.value is None or _is_exact(inner.type, node.type) else None


def _bare(node: Node) -> Node:
    return node.args[0] if isinstance(node, Call) and node.op == "cast" else node


def _is_exact(source: Type, target: Type) -> bool:
    """Whether every value survives the change of type; FLOAT and DOUBLE are out."""
    return not target.is_float and common_type(source, target) == target
