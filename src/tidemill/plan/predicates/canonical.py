"""A WHERE clause ⇒ its canonical form.

Truth and falsity are followed apart down to the atoms, as three-valued logic asks: NOT swaps
them, AND is true where both sides are and false where either is. What is no atom, and what
would grow too large, stays whole, as one opaque condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from tidemill.catalog.names import Name
from tidemill.language.expressions.trees import parse_tree, to_sql
from tidemill.plan.builders import OutsideError
from tidemill.plan.expressions import Literal
from tidemill.plan.predicates.atoms import read_atom
from tidemill.plan.predicates.boxes import TooManyBoxesError
from tidemill.plan.predicates.domains import compared
from tidemill.plan.predicates.predicate import FALSE, TRUE, Predicate
from tidemill.plan.predicates.predicate import where as only_where
from tidemill.plan.scalar import Scalar
from tidemill.plan.try_forms import to_spark_sql
from tidemill.plan.typed_trees import slots_by_name, type_known
from tidemill.types import BOOLEAN, Type


def canonical(where: Scalar | None, types: Mapping[str, Type]) -> Predicate:
    """The rows that pass the clause; `types` are those of the stream's columns."""
    if where is None:
        return TRUE
    # What may raise stays whole: taken apart, it would raise for other rows.
    if where.may_raise:
        return opaque(where, holds=True)
    return _Reader(types).rows(parse_tree(where.sql), holds=True)


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
            return opaque(self._scalar(tree), holds=holds)

    def _parts(self, tree: exp.Expr, holds: bool) -> Predicate:
        if isinstance(tree, exp.And | exp.Or):
            parts = (self.rows(part, holds=holds) for part in tree.flatten())
            if isinstance(tree, exp.And) == holds:
                return reduce(Predicate.__and__, parts)
            return reduce(Predicate.__or__, parts)
        if isinstance(tree, exp.Between):
            return self._parts(_as_comparisons(tree), holds)
        return self._atom(tree, holds)

    def _atom(self, tree: exp.Expr, holds: bool) -> Predicate:
        try:
            node = type_known(tree, slots_by_name(self.types))
        except OutsideError:
            return opaque(self._scalar(tree), holds=holds)
        if isinstance(node, Literal):
            return TRUE if node.value is holds else FALSE
        atom = read_atom(node)
        if atom is None:
            return opaque(self._scalar(tree), holds=holds)
        return only_where(atom.column, atom.true if holds else atom.false)

    def _scalar(self, tree: exp.Expr) -> Scalar:
        used = {Name(column.name) for column in tree.find_all(exp.Column)}
        return Scalar(
            sql=to_sql(tree),
            try_sql=to_spark_sql(tree, self.types),
            type=BOOLEAN,
            columns=tuple(name for name in self.types if Name(name) in used),
        )


def _as_comparisons(tree: exp.Between) -> exp.Expr:
    above = exp.GTE(this=tree.this.copy(), expression=tree.args["low"].copy())
    below = exp.LTE(this=tree.this.copy(), expression=tree.args["high"].copy())
    return exp.And(this=above, expression=below)
