"""Conditions over several windows, taken apart: equalities of two sides, and what is about one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from tidemill.errors import Place
from tidemill.language.expressions.trees import parse_tree
from tidemill.language.not_built import refuse_unbuilt
from tidemill.language.statements import Expr
from tidemill.plan.bind.clauses import ScalarBinder, check_condition, refuse_aggregates
from tidemill.plan.bind.join_conditions import conjuncts
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
    def compared(self) -> frozenset[frozenset[int]]:
        """Sides of which one gives rows, so that equalities hold."""
        return frozenset(sides for equality in self.equalities for sides in equality.present)


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
        if isinstance(tree, exp.EQ) and (equalities := self._equalities(expr, tree, place)):
            return Conjuncts(equalities)
        sides = sides_of(tree, self.items)
        scalar = self.scalars.bind(expr, tree)
        check_condition(self.clause, scalar.type, place)
        if len(sides) > 1:
            return Conjuncts(mixed=(MixedCondition(self.clause, expr, tree, place),))
        if not sides and truth_of_nulls(tree):
            return Conjuncts()
        side = next(iter(sides), self.default)
        return Conjuncts((), (SideCondition(side, scalar, tree, place),))

    def _equalities(self, expr: Expr, tree: exp.EQ, place: Place | None) -> tuple[Equality, ...]:
        """What an equality says, if either half is about one side, or one is a COALESCE of such."""
        left, right = (self._choices(half.unnest()) for half in (tree.this, tree.expression))
        choices, others = (left, right) if len(right) == 1 else (right, left)
        if not choices or len(others) != 1:
            return ()
        other = self._operand(expr, others[0])
        operands = [self._operand(expr, choice) for choice in choices]
        sides = frozenset(operand.side for operand in operands)
        if other.side in sides or len(sides) < len(operands):
            return ()
        among = sides if len(sides) > 1 else frozenset[int]()
        return tuple(Equality(operand, other, place, among) for operand in operands)

    def _choices(self, tree: exp.Expr) -> list[exp.Expr]:
        """The expressions about one side of which a half of an equality is the first."""
        is_choice = isinstance(tree, exp.Anonymous) and tree.name.upper() == "COALESCE"
        if is_choice and len(sides_of(tree, self.items)) > 1:
            choices = [part.unnest() for part in tree.expressions]
        else:
            choices = [tree]
        are_single = all(len(sides_of(choice, self.items)) == 1 for choice in choices)
        return choices if are_single else []

    def _operand(self, expr: Expr, tree: exp.Expr) -> Operand:
        (side,) = sides_of(tree, self.items)
        return Operand(side, self.scalars.bind(expr, tree))


def refuse_mixing(conditions: Sequence[MixedCondition]) -> None:
    """Refuses conditions about several sides where no row of the join is made."""
    for condition in conditions:
        thing = f"a condition of {condition.clause} that mixes windows"
        refuse_unbuilt(thing, _ONE_WINDOW, condition.place)
