"""How the sides of a query meet: their common key, and the terms that its FROM and WHERE make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from sqlglot import exp

from tidemill.errors import Place, refuse
from tidemill.language.expressions.trees import parse_tree
from tidemill.language.not_built import refuse_unbuilt
from tidemill.language.statements import Expr
from tidemill.plan.bind.clauses import ScalarBinder
from tidemill.plan.bind.joined.conditions import Conjuncts, MixedCondition, SideCondition
from tidemill.plan.bind.joined.keys import Equality, JoinKey, Operand, common_key
from tidemill.plan.bind.joined.relations import JoinStep
from tidemill.plan.bind.joined.terms import (
    Draft,
    Settled,
    TermStep,
    UndecidedError,
    crossed,
    joined_by,
    passing,
    settled,
    starting,
)

_LINK = "let ON compare the key of this window with that of one before it"
_NULLS = "the window may have no partner, and then its columns are NULL; write this with IS NULL"


@dataclass(frozen=True)
class Clauses:
    """What a query says of its sides: groups of joins with commas between, and WHERE."""

    groups: tuple[tuple[int, tuple[JoinStep, ...]], ...]
    where: Conjuncts
    looks: tuple[JoinStep, ...]  # EXISTS and IN

    @property
    def steps(self) -> tuple[JoinStep, ...]:
        return tuple(step for _, steps in self.groups for step in steps)

    @property
    def conditions(self) -> tuple[SideCondition, ...]:
        clauses = (*(step.on for step in (*self.steps, *self.looks)), self.where)
        return tuple(condition for clause in clauses for condition in clause.conditions)

    @property
    def mixed(self) -> tuple[MixedCondition, ...]:
        clauses = (*(step.on for step in (*self.steps, *self.looks)), self.where)
        return tuple(condition for clause in clauses for condition in clause.mixed)

    @property
    def equalities(self) -> tuple[Equality, ...]:
        clauses = (*(s.on for s in self.steps), self.where, *(s.on for s in self.looks))
        return tuple(equality for clause in clauses for equality in clause.equalities)

    def keyed(self, key: JoinKey, scalars: ScalarBinder) -> Clauses:
        """With conditions where an equality names another expression than the key has."""

        def of(step: JoinStep) -> JoinStep:
            return replace(step, on=_keyed(step.on, key, scalars))

        groups = tuple((first, tuple(map(of, steps))) for first, steps in self.groups)
        where = _keyed(self.where, key, scalars)
        return Clauses(groups, where, tuple(map(of, self.looks)))


@dataclass(frozen=True)
class Meeting:
    """The key, and the rows under one key."""

    key: JoinKey
    rows: Settled
    conditions: tuple[SideCondition, ...]

    @property
    def nullable(self) -> frozenset[int]:
        """The sides that have NULLs in place of rows in some term."""
        rows = [term.rows for term in self.rows.terms]
        return frozenset(side for each in rows for side, r in enumerate(each) if r is None)


def meeting_of(clauses: Clauses, names: Sequence[str], scalars: ScalarBinder) -> Meeting:
    """The meeting of sides of these names, or why it cannot be told from their keys."""
    key = common_key(clauses.equalities, names)
    _check_links(clauses, key)
    keyed = clauses.keyed(key, scalars)
    try:
        rows = settled(_drafts(keyed, key), len(names))
    except UndecidedError as error:
        _refuse_undecided(error, keyed.conditions)
    return Meeting(key, rows, keyed.conditions)


def _drafts(clauses: Clauses, key: JoinKey) -> list[Draft]:
    drafts: list[Draft] | None = None
    for first, steps in clauses.groups:
        group = starting(first)
        for step in steps:
            group = joined_by(group, _step(step, key))
        drafts = group if drafts is None else crossed(drafts, group)
    where = clauses.where
    conditions = (condition.on_rows(key) for condition in where.conditions)
    drafts = passing(drafts or [], conditions, where.compared)
    for look in clauses.looks:
        drafts = joined_by(drafts, _step(look, key))
    return drafts


def _step(step: JoinStep, key: JoinKey) -> TermStep:
    conditions = [condition.on_rows(key) for condition in step.on.conditions]
    return TermStep(
        step.kind,
        step.side,
        step.on.compared - {frozenset((step.side,))},
        tuple(condition for condition in conditions if condition.side != step.side),
        tuple(condition for condition in conditions if condition.side == step.side),
    )


def _keyed(clause: Conjuncts, key: JoinKey, scalars: ScalarBinder) -> Conjuncts:
    """Where `a.k` is the key and an equality says `a.j`, it asks for `a.k = a.j` too."""
    for equality in clause.equalities:
        if equality.among and not all(map(key.has, equality.operands)):
            _refuse_choice(equality)
    further = tuple(
        _same(key.of(operand.side)[key.place(operand)].sql, operand, equality, scalars)
        for equality in clause.equalities
        for operand in equality.operands
        if not key.has(operand)
    )
    return replace(clause, conditions=(*clause.conditions, *further))


def _refuse_choice(equality: Equality) -> NoReturn:
    refuse_unbuilt(
        f"COALESCE of {equality.left.scalar.sql}, which is no part of the key,",
        "compare the expressions that the windows are joined by",
        equality.place,
    )


def _same(text: str, operand: Operand, equality: Equality, scalars: ScalarBinder) -> SideCondition:
    sides = (exp.Paren(this=parse_tree(sql).copy()) for sql in (text, operand.scalar.sql))
    tree = exp.EQ(this=next(sides), expression=next(sides))
    expr = Expr(equality.sql, equality.place)
    return SideCondition(operand.side, scalars.bind(expr, tree), tree, equality.place)


def _check_links(clauses: Clauses, key: JoinKey) -> None:
    """Every join must be one under each key: rows of different keys are never together."""
    inner = (step.on for step in clauses.steps if step.kind == "INNER")
    pool = [e for c in (*inner, clauses.where) for e in c.equalities if not e.among]
    before: set[int] = set()
    for first, steps in clauses.groups:
        members = {first}
        for step in steps:
            linked = _direct(step, key) + (pool if step.kind == "INNER" else [])
            _check_linked(key, linked, {step.side}, members, step.place)
            members.add(step.side)
        if before:
            _check_linked(key, pool, members, before, None)
        before |= members
    for step in clauses.looks:
        _check_linked(key, _direct(step, key), {step.side}, before, step.place)


def _direct(step: JoinStep, key: JoinKey) -> list[Equality]:
    """The equalities of an outer join that compare the new side's key with another's."""
    return [e for e in step.on.equalities if step.side in e.sides and all(map(key.has, e.operands))]


def _check_linked(
    key: JoinKey,
    equalities: Sequence[Equality],
    new: set[int],
    before: set[int],
    place: Place | None,
) -> None:
    for component in range(len(key.components)):
        pairs = [e.sides for e in equalities if key.place(e.left) == component]
        if not _reached(new, pairs) & before:
            refuse(
                "E_NOT_BUILT",
                "windows that are joined on no common key are not joined yet",
                hint=_LINK,
                place=place,
            )


def _reached(sides: set[int], pairs: Sequence[frozenset[int]]) -> set[int]:
    reached, size = set(sides), 0
    while size < len(reached):
        size = len(reached)
        reached |= {side for pair in pairs if pair & reached for side in pair}
    return reached


def _refuse_undecided(error: UndecidedError, conditions: Sequence[SideCondition]) -> NoReturn:
    said = next(c for c in conditions if c.scalar.sql == error.condition.sql)
    refuse(
        "E_NOT_BUILT",
        f"whether {said.scalar.sql} holds of NULLs cannot be told yet",
        hint=_NULLS,
        place=said.place,
    )
