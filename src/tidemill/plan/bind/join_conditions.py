"""The condition of a join, taken apart: which equalities find partners, and what is left over.

Parts are in a fixed order and orientation, so that `a = w.x AND b = w.y` and
`w.y = b AND w.x = a` are one condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from tidemill.errors import Place, refuse
from tidemill.language.expressions.trees import to_sql
from tidemill.language.names import quote_name
from tidemill.language.statements import Expr, JoinClause
from tidemill.plan.bind.clauses import refuse_aggregates
from tidemill.plan.bind.scope import Scope
from tidemill.plan.expressions import Scalar
from tidemill.plan.type_rules import common_type
from tidemill.types import Type

_Pair = tuple[exp.Expr, exp.Expr]


_NO_GROUPS = "a join pairs rows, before there are groups"


@dataclass(frozen=True)
class Condition:
    """Pairs of (what was there before, the table), and the conjuncts that are none."""

    pairs: tuple[_Pair, ...]
    rest: tuple[exp.Expr, ...]

    @property
    def sql(self) -> str:
        pairs = [f"{to_sql(before)} = {to_sql(table)}" for before, table in self.pairs]
        return " AND ".join([*pairs, *map(to_sql, self.rest)])

    @property
    def residual(self) -> exp.Expr | None:
        """The conjuncts that are no pairs, as one tree."""
        if len(self.rest) < 2:
            return self.rest[0] if self.rest else None
        operands = (exp.Paren(this=e) if isinstance(e, exp.Or) else e for e in self.rest)
        return reduce(lambda left, right: exp.And(this=left, expression=right), operands)


def condition_of(clause: JoinClause, scope: Scope) -> Condition:
    """The clause's condition; the table is the last relation of the scope."""
    pairs, rest = {}, {}
    for conjunct in _conjuncts(clause, scope):
        if (pair := _pair(scope, conjunct)) is not None:
            pairs[to_sql(pair[0]), to_sql(pair[1])] = pair
        else:
            rest[to_sql(conjunct)] = conjunct
    return Condition(
        tuple(pairs[key] for key in sorted(pairs)), tuple(rest[key] for key in sorted(rest))
    )


def compared_type(left: Scalar, right: Scalar, place: Place | None) -> Type:
    """What two expressions are widened to where a join compares them."""
    meeting = common_type(left.type, right.type)
    if meeting is None or not meeting.is_atomic:
        refuse(
            "E_TYPE",
            f"{left.sql} is {left.type} and {right.sql} is {right.type}: no way to join them",
            hint="make the types equal, for example with TRY_CAST(… AS …)",
            place=place,
        )
    return meeting


def _conjuncts(clause: JoinClause, scope: Scope) -> Iterator[exp.Expr]:
    if clause.on is None:
        return (_merged(clause, scope, name) for name in clause.using)
    tree = scope.resolve(clause.on)
    refuse_aggregates("ON", clause.on, tree, scope.aggregates, _NO_GROUPS)
    return conjuncts(tree)


def conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    """What AND joins."""
    tree = tree.unnest()
    if isinstance(tree, exp.And):
        yield from conjuncts(tree.this)
        yield from conjuncts(tree.expression)
    else:
        yield tree


def _merged(clause: JoinClause, scope: Scope, name: str) -> exp.Expr:
    """`USING (name)`: the column of what is there already, and the table's."""
    table, column = quote_name(scope.entries[-1].qualifier.written), quote_name(name)
    before, place = replace(scope, entries=scope.entries[:-1]), clause.condition_place
    return exp.EQ(
        this=before.resolve(Expr(column, place)),
        expression=scope.resolve(Expr(f"{table}.{column}", place)),
    )


def _pair(scope: Scope, conjunct: exp.Expr) -> _Pair | None:
    if not isinstance(conjunct, exp.EQ):
        return None
    left, right = conjunct.this.unnest(), conjunct.expression.unnest()
    sides = (_reads(scope, left), _reads(scope, right))
    if sides == ("before", "table"):
        return left, right
    return (right, left) if sides == ("table", "before") else None


def _reads(scope: Scope, tree: exp.Expr) -> str:
    """The side that an expression belongs to: `before`, `table`, or neither."""
    joins = {column.join for column in scope.joined_of(tree)}
    table = scope.entries[-1].join
    if table not in joins:
        return "before" if joins or scope.columns_of(tree) else ""
    return "table" if joins == {table} and not scope.columns_of(tree) else ""
