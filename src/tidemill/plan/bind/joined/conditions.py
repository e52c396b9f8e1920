"""Conditions over several windows, taken apart: equalities of two sides, and what is about one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from tidemill.errors import Place, refuse
from tidemill.language.expressions.trees import parse_tree
from tidemill.language.statements import Expr
from tidemill.plan.bind.clauses import ScalarBinder, check_condition, refuse_aggregates
from tidemill.plan.bind.joined.keys import Equality, JoinKey, Operand
from tidemill.plan.bind.joined.nulls import truth_of_nulls
from tidemill.plan.bind.joined.sides import FromItem, sides_of
from tidemill.plan.bind.joined.terms import RowCondition
from tidemill.plan.bind.scope import place_in
from tidemill.plan.expressions import Scalar

_ONE_WINDOW = "equalities of two windows join them; every other condition is about one window"


@dataclass(frozen=True)
class SideCondition:
    """A condition about one side, as a scalar of the whole query."""

    side: int
    scalar: Scalar
    tree: exp.Expr
    place: Place | None

    def on_rows(self, key: JoinKey) -> RowCondition:
        """As a condition on rows that meet under a key."""
        # The normal form has fewer kinds of trees than the text.
        of_nulls = truth_of_nulls(parse_tree(self.scalar.sql))
        texts = [f"{scalar.sql} IS NULL" for scalar in key.of(self.side)]
        partners = {**dict.fromkeys(texts, False), **{f"NOT {text}": True for text in texts}}
        return RowCondition(self.side, self.scalar.sql, of_nulls, partners.get(self.scalar.sql))


@dataclass(frozen=True)
class MixedCondition:
    """A condition about several sides, which only a row of the join can tell."""

    clause: str
    expr: Expr
    tree: exp.Expr
    place: Place | None


@dataclass(frozen=True)
class Conjuncts:
    """The conditions of a clause, all of which have to hold."""

    equalities: tuple[Equality, ...] = ()
    conditions: tuple[SideCondition, ...] = ()
    mixed: tuple[MixedCondition, ...] = ()

    def __add__(self, other: Conjuncts) -> Conjuncts:
        return Conjuncts(
            (*self.equalities, *other.equalities),
            (*self.conditions, *other.conditions),
            (*self.mixed, *other.mixed),
        )

    @property
    def compared(self) -> frozenset[int]:
        """The sides that equalities are about."""
        return frozenset(side for equality in self.equalities for side in equality.sides)


@dataclass(frozen=True)
class ConditionReader:
    """Reads the conditions of one clause; one about no side at all is given to `default`."""

    scalars: ScalarBinder
    items: Sequence[FromItem]
    clause: str
    default: int
    hint: str = ""

    def read(self, expr: Expr | None) -> Conjuncts:
        if expr is None:
            return Conjuncts()
        scope = self.scalars.scope
        tree = scope.resolve(expr)
        refuse_aggregates(self.clause, expr, tree, scope.aggregates, self.hint)
        parts = [self._conjunct(expr, part) for part in conjuncts(tree)]
        return sum(parts, Conjuncts())

    def equal(self, expr: Expr, left: exp.Expr, right: exp.Expr) -> Conjuncts:
        """What says that two resolved trees are equal."""
        return self._conjunct(expr, exp.EQ(this=left, expression=right))

    def _conjunct(self, expr: Expr, tree: exp.Expr) -> Conjuncts:
        place = place_in(expr, tree)
        if (pair := self._pair(tree)) is not None:
            left, right = (self._operand(expr, operand) for operand in pair)
            return Conjuncts((Equality(left, right, tree, place),))
        sides = sides_of(tree, self.items)
        scalar = self.scalars.bind(expr, tree)
        check_condition(self.clause, scalar.type, place)
        if len(sides) > 1:
            return Conjuncts(mixed=(MixedCondition(self.clause, expr, tree, place),))
        if not sides and truth_of_nulls(tree):
            return Conjuncts()
        side = next(iter(sides), self.default)
        return Conjuncts((), (SideCondition(side, scalar, tree, place),))

    def _pair(self, tree: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
        """The halves of an equality of two sides."""
        if not isinstance(tree, exp.EQ):
            return None
        left, right = tree.this.unnest(), tree.expression.unnest()
        sides = sides_of(left, self.items), sides_of(right, self.items)
        is_pair = len(sides[0]) == len(sides[1]) == 1 and sides[0] != sides[1]
        return (left, right) if is_pair else None

    def _operand(self, expr: Expr, tree: exp.Expr) -> Operand:
        (side,) = sides_of(tree, self.items)
        return Operand(side, self.scalars.bind(expr, tree))


def refuse_mixing(conditions: Sequence[MixedCondition]) -> None:
    """Refuses conditions about several sides where no row of the join is made."""
    for condition in conditions:
        thing = f"a condition of {condition.clause} that mixes windows"
        refuse_mixed(thing, _ONE_WINDOW, condition.place)


def refuse_mixed(thing: str, hint: str, place: Place | None) -> NoReturn:
    """Refuses what could be told of pairs of rows alone."""
    refuse("E_NOT_BUILT", f"{thing} is not built yet", hint=hint, place=place)


def conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    """What AND joins."""
    tree = tree.unnest()
    if isinstance(tree, exp.And):
        yield from conjuncts(tree.this)
        yield from conjuncts(tree.expression)
    else:
        yield tree
