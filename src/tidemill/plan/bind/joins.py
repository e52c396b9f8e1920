"""A JOIN clause ⇒ the terms of a join, with a name made from table and condition.

Two queries that join a table in the same way, under whatever aliases, call its columns the
same; so equal text means equal value here too.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from hashlib import blake2b

from sqlglot import exp

from tidemill.catalog import Table
from tidemill.errors import refuse
from tidemill.language.names import Name, quote_name
from tidemill.language.not_built import refuse_not_built
from tidemill.language.statements import Expr, JoinClause
from tidemill.plan.bind.clauses import ScalarBinder, TypeOracle, check_condition
from tidemill.plan.bind.join_conditions import Condition, compared_type, condition_of
from tidemill.plan.bind.scope import Scope, in_own_words, table_entry
from tidemill.plan.expressions import Scalar, Slot
from tidemill.plan.joins import JoinTerms

_NOT_PLAIN = re.compile(r"[^a-z0-9]")
_SAFE = "compare equal types, for example with TRY_CAST; an inner JOIN can leave this to WHERE"


def where_passed(condition: exp.Expr, tree: exp.Expr) -> exp.Expr:
    """The value of a tree for rows that pass a condition, and NULL for others."""
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=tree.copy())])


@dataclass(frozen=True)
class JoinBinder:
    """Binds one clause over the relations before it, whose rows have passed a condition."""

    before: Scope
    clause: JoinClause
    table: Table
    oracle: TypeOracle
    passed: exp.Expr | None = None

    def bind(self, names: Collection[str]) -> tuple[Scope, JoinTerms]:
        """The scope with the table in it, and the terms; `names` are those of joins before it."""
        self._check_qualifier()
        name = self._name(names)
        scope = self._scope(name)
        with in_own_words(scope):
            return scope, self._terms(name, scope)

    def _check_qualifier(self) -> None:
        qualifier = self.clause.qualifier
        if Name(qualifier) in (entry.qualifier for entry in self.before.visible):
            refuse(
                "E_DUPLICATE",
                f"two parts of FROM are called '{qualifier}'",
                hint=f"give this one another name: JOIN {self.clause.name} AS …",
                place=self.clause.place,
            )

    def _scope(self, join: str) -> Scope:
        entries = (*self.before.entries, table_entry(self.clause, self.table, join))
        return replace(self.before, entries=entries)

    def _name(self, names: Collection[str]) -> str:
        # The name is made from the condition, so this is first read under a plain one.
        plain = f"_{_NOT_PLAIN.sub('_', Name(self.table.name))}"
        condition = self._condition(self._scope(plain))
        text = f"{Name(self.table.name)} {condition.sql}"
        while (name := f"{plain}_{_digest(text)}") in names:
            text += " once more"  # joined twice in one way, a table multiplies rows twice
        return name

    def _condition(self, scope: Scope) -> Condition:
        """The condition; sides that may raise are worked out for the rows of the stream alone."""
        condition = condition_of(self.clause, scope)
        if self.passed is None:
            return condition
        passed, scalars = self.passed, ScalarBinder(scope, self.oracle)
        pairs = (
            (where_passed(passed, before), table)
            if scalars.bind(self._expr, before).may_raise
            else (before, table)
            for before, table in condition.pairs
        )
        return replace(condition, pairs=tuple(pairs))

    def _terms(self, name: str, scope: Scope) -> JoinTerms:
        scalars, condition = ScalarBinder(scope, self.oracle), self._condition(scope)
        residual = self._bind_residual(scalars, condition.residual)
        if not condition.pairs:
            refuse_not_built("a JOIN without an equality", "", self._expr.place)
        return JoinTerms(
            name=name,
            table=self.table.name,
            kind="left" if self.clause.kind == "LEFT" else "inner",
            equal=tuple(self._bind_pair(scalars, *pair) for pair in condition.pairs),
            residual=residual,
            alias=self.clause.qualifier,
            columns=tuple(Slot(c.name, c.type) for c in scope.entries[-1].columns.values()),
        )

    @property
    def _expr(self) -> Expr:
        """The whole condition, to say where a refusal points."""
        using = Expr(", ".join(map(quote_name, self.clause.using)), self.clause.condition_place)
        return self.clause.on or using

    def _bind_pair(
        self, scalars: ScalarBinder, before: exp.Expr, table: exp.Expr
    ) -> tuple[Scalar, Scalar]:
        """Each side is worked out on its own, guarded if need be; comparing must not raise."""
        left, right = scalars.bind(self._expr, before), scalars.bind(self._expr, table)
        compared_type(left, right, self._expr.place)
        return left, right

    def _bind_residual(self, scalars: ScalarBinder, tree: exp.Expr | None) -> Scalar | None:
        if tree is None:
            return None
        scalar = scalars.bind(self._expr, tree)
        check_condition("ON", scalar.type, self._expr.place)
        if scalar.guarded:
            refuse(
                "E_NOT_BUILT",
                f"{scalar.sql} could fail on a row, and ON cannot guard against that yet",
                hint=_SAFE,
                place=self._expr.place,
            )
        return scalar


def _digest(text: str) -> str:
    """Short, for people to read; two joins of one table would hardly ever meet in it."""
    return blake2b(text.encode(), digest_size=4).hexdigest()
