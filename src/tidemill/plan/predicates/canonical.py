"""A WHERE clause ⇒ its canonical form.

Truth and falsity are followed apart down to the atoms, as three-valued logic asks: NOT swaps
them, AND is true where both sides are and false where either is. An atom is a simple condition
on one column; where it is NULL it is neither true nor false. What is no atom, and what would
grow too large, stays whole, as one opaque condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from tidemill.language.expressions.trees import parse_tree
from tidemill.language.names import Name
from tidemill.plan.builders import OutsideError
from tidemill.plan.expressions import Call, Literal, Node, Scalar, Slot
from tidemill.plan.normal_form import normal_form, opposite
from tidemill.plan.predicates.boxes import Dimension, TooManyBoxesError
from tidemill.plan.predicates.predicate import FALSE, TRUE, Predicate
from tidemill.plan.predicates.predicate import where as only_where
from tidemill.plan.predicates.values import (
    EVERYTHING,
    MIRRORED,
    NOT_NULL,
    NOTHING,
    NULL_ONLY,
    ValueSet,
    compared,
    has_line,
)
from tidemill.plan.scalars import make_scalar, restate
from tidemill.plan.type_rules import common_type
from tidemill.plan.typed_trees import slots_by_name, type_known
from tidemill.types import BOOLEAN, Type

_READ_AS_OPPOSITES = (exp.NEQ, exp.GTE, exp.LTE)


def canonical(where: Scalar | None, types: Mapping[str, Type]) -> Predicate:
    """The rows that pass the clause; `types` are those of the stream's columns."""
    if where is None:
        return TRUE
    # What may raise stays whole: taken apart, it would raise for other rows.
    if where.may_raise:
        return opaque(where, holds=True)
    return _Reader(types).rows(parse_tree(where.sql), holds=True)


def restate_predicate(predicate: Predicate, types: Mapping[str, Type]) -> Predicate:
    """A predicate that an earlier release may have written, as it is read now."""
    if not predicate.residuals:
        return predicate
    reader = _Reader(types)
    boxes = ([reader.side(*side) for side in box.sides] for box in predicate.boxes)
    try:
        return reduce(Predicate.__or__, (reduce(Predicate.__and__, sides, TRUE) for sides in boxes))
    except TooManyBoxesError:
        return predicate


def opaque(condition: Scalar, *, holds: bool) -> Predicate:
    """The rows for which a condition that is not looked into is true, or false."""
    return only_where(condition, compared("eq", holds, BOOLEAN))


@dataclass(frozen=True)
class _Reader:
    types: Mapping[str, Type]

    def rows(self, tree: exp.Expr, *, holds: bool) -> Predicate:
        """The rows for which the condition is true, or for which it is false."""
        if isinstance(tree, exp.Paren):
            return self.rows(tree.this, holds=holds)
        if isinstance(tree, exp.Not):
            return self.rows(tree.this, holds=not holds)
        try:
            return self._parts(tree, holds)
        except TooManyBoxesError:
            return self._opaque(tree, holds)

    def side(self, dimension: Dimension, allowed: ValueSet) -> Predicate:
        """The rows of one side of a stored box."""
        if isinstance(dimension, Slot):
            return only_where(dimension, allowed)
        condition = restate(dimension, self.types)
        if condition.may_raise or None in allowed:
            return only_where(condition, allowed)
        tree = parse_tree(condition.sql)
        truths = (self.rows(tree, holds=holds) for holds in (False, True) if holds in allowed)
        return reduce(Predicate.__or__, truths)

    def _parts(self, tree: exp.Expr, holds: bool) -> Predicate:
        if isinstance(tree, exp.And | exp.Or):
            parts = (self.rows(part, holds=holds) for part in tree.flatten())
            if isinstance(tree, exp.And) == holds:
                return reduce(Predicate.__and__, parts)
            return reduce(Predicate.__or__, parts)
        return self._atom(tree, holds)

    def _atom(self, tree: exp.Expr, holds: bool) -> Predicate:
        try:
            node = type_known(tree, slots_by_name(self.types))
        except OutsideError:
            return self._opaque(tree, holds)
        if isinstance(node, Literal):
            return TRUE if node.value is holds else FALSE
        atom = read_atom(node)
        if atom is None:
            return self._opaque(tree, holds)
        return only_where(atom.column, atom.true if holds else atom.false)

    def _opaque(self, tree: exp.Expr, holds: bool) -> Predicate:
        """A condition and its opposite are one; what cannot raise may stand for either."""
        if isinstance(tree, _READ_AS_OPPOSITES):
            return opaque(self._scalar(opposite(tree)), holds=not holds)
        return opaque(self._scalar(tree), holds=holds)

    def _scalar(self, tree: exp.Expr) -> Scalar:
        used = {Name(column.name) for column in tree.find_all(exp.Column)}
        columns = tuple(name for name in self.types if Name(name) in used)
        return make_scalar(normal_form(tree, self.types), self.types, BOOLEAN, columns)


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
    """True if every value survives the change of type; FLOAT and DOUBLE are out."""
    return not target.is_float and common_type(source, target) == target
