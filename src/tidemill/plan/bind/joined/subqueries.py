"""EXISTS and IN: sides that are looked at, and give no rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidemill.language.not_built import refuse_unbuilt
from tidemill.language.statements import Subquery
from tidemill.plan.bind.clauses import refuse_aggregates
from tidemill.plan.bind.joined.conditions import (
    ConditionReader,
    Conjuncts,
)
from tidemill.plan.bind.joined.relations import FromReader, JoinStep
from tidemill.plan.bind.joined.sides import sides_of
from tidemill.plan.bind.joined.terms import Kind
from tidemill.plan.bind.scope import ScopeEntry

_CORRELATED = "compare columns with =; what is about the outer windows alone stands outside"
_NOT_IN = "write NOT EXISTS (SELECT 1 FROM … WHERE …), or leave the correlation out"
_ONE_EACH = "IN compares an expression of one window with one of another"


@dataclass(frozen=True)
class SubqueryReader:
    """Reads the conditions of WHERE that look into other windows, after FROM has been read."""

    reader: FromReader

    def step(self, subquery: Subquery) -> JoinStep:
        """What a subquery asks, as a step."""
        side = self.reader.add_side(
            subquery.stream, subquery.qualifier, subquery.window, subquery.stream_place
        )
        entry = side.items[0].visible()
        scalars = self.reader.scalars([*self._outside(entry), entry])
        conditions = ConditionReader(scalars, self.reader.items, "WHERE", side.number)
        inside = conditions.read(subquery.where)
        self._check_correlation(inside, side.number, subquery)
        if subquery.subject is None:
            kind: Kind = "LEFT ANTI" if subquery.negated else "LEFT SEMI"
            return JoinStep(kind, side.number, inside, subquery.place)
        if subquery.negated and inside.equalities:
            refuse_unbuilt("NOT IN with a correlated subquery", _NOT_IN, subquery.place)
        equality = self._membership(subquery, conditions, entry, side.number)
        if not subquery.negated:
            return JoinStep("LEFT SEMI", side.number, inside + equality, subquery.place)
        return JoinStep("NOT IN", side.number, inside + equality, subquery.place)

    def _outside(self, entry: ScopeEntry) -> list[ScopeEntry]:
        """The names of the outer query that the subquery does not hide."""
        return [
            replace(outer, merged=outer.merged | entry.declared.keys())
            for outer in self.reader.entries
            if outer.qualifier != entry.qualifier
        ]

    def _check_correlation(self, inside: Conjuncts, side: int, subquery: Subquery) -> None:
        outer = [c for c in inside.conditions if c.side != side]
        apart = [e for e in inside.equalities if side not in e.sides]
        if outer or apart:
            place = outer[0].place if outer else apart[0].place
            refuse_unbuilt("correlation by more than equalities", _CORRELATED, place)

    def _membership(
        self, subquery: Subquery, conditions: ConditionReader, entry: ScopeEntry, side: int
    ) -> Conjuncts:
        """The equality that IN stands for."""
        subject, item = subquery.subject, subquery.item
        assert subject is not None
        assert item is not None
        outer = self.reader.scope().resolve(subject)
        inner = conditions.scalars.scope.resolve(item)
        for expr, tree in ((subject, outer), (item, inner)):
            refuse_aggregates("WHERE", expr, tree, conditions.scalars.scope.aggregates)
        reads = sides_of(outer, self.reader.items), sides_of(inner, self.reader.items)
        if len(reads[0]) != 1 or reads[1] != {side}:
            refuse_unbuilt("such a condition with IN", _ONE_EACH, subquery.place)
        return conditions.equal(subject, outer, inner)
