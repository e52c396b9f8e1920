"""The parts of a query over a union: what it says of the union's columns, said of each source's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tidemill.catalog import Table
from tidemill.language.names import Name
from tidemill.language.statements import ColumnDef, CreateQuery, Expr
from tidemill.plan.bind.branch import (
    BoundStream,
    Branch,
    joins_met,
    source_of,
    tree_over,
    where_over,
)
from tidemill.plan.bind.clauses import ScalarBinder, predicate_of
from tidemill.plan.bind.environment import Environment, Memo
from tidemill.plan.bind.scope import Scope, ScopeEntry, in_own_words
from tidemill.plan.bind.streams import query_scope
from tidemill.plan.expressions import Scalar
from tidemill.plan.joins import Join, JoinTerms
from tidemill.plan.query import AggregateCall, QueryPlan
from tidemill.plan.relation import Union, join_all
from tidemill.plan.row_query import AnyQuery, RowQuery, part_name


@dataclass(frozen=True)
class _PartBinder:
    """Binds what a query over windows of a union reads of one of its branches."""

    query: CreateQuery
    plan: QueryPlan
    branch: Branch
    scope: Scope
    joins: tuple[JoinTerms, ...]
    words: Scope  # the columns of the union and its tables, as trees over those of the branch
    environment: Environment
    memo: Memo

    def part(self, number: int, tables: tuple[Table, ...]) -> QueryPlan:
        """Keys and calls stand at the places that they have in the query."""
        select, scalars = self.query.select, self._scalars
        joins = joins_met(self.branch, self.joins, tables, select.joins, self.environment.extent_of)
        text = select.where.sql if select.where else None
        where = self.memo.recall(
            ("where", text), lambda: where_over(self.branch, scalars, select.where)
        )
        conditions = ("predicate", where.sql if where else "", *(join.name for join in joins))
        return replace(
            self.plan.part(part_name(self.plan.name, number)),
            relation=join_all(source_of(self.branch.source), joins.values()),
            tree=tree_over(self.branch, self.joins, joins),
            where=where,
            predicate=self.memo.recall(
                conditions, lambda: predicate_of(where, joins, scalars.types)
            ),
            keys=tuple(replace(k, scalar=self._said_here(k.scalar)) for k in self.plan.keys),
            aggregates=tuple(map(self._call, self.plan.aggregates)),
        )

    def _call(self, call: AggregateCall) -> AggregateCall:
        argument = None if call.argument is None else self._said_here(call.argument)
        return replace(call, argument=argument, others=tuple(map(self._said_here, call.others)))

    def _said_here(self, scalar: Scalar) -> Scalar:
        """The same value, over the columns of the branch."""
        return self.memo.recall(("here", scalar.sql), lambda: self._translated(scalar))

    def _translated(self, scalar: Scalar) -> Scalar:
        expr = Expr(scalar.sql)
        return self._scalars.bind(expr, self.words.resolve(expr))

    @property
    def _scalars(self) -> ScalarBinder:
        return ScalarBinder(self.scope, self.environment.type_of)


def bind_parts(
    query: CreateQuery,
    plan: QueryPlan,
    stream: BoundStream,
    environment: Environment,
    tables: tuple[Table, ...],
) -> QueryPlan:
    """The query over a union with a part for each branch."""
    outer, _, _ = query_scope(query, stream.face, environment, tables)
    parts = []
    for number, branch in enumerate(stream.branches, start=1):
        scope, joins, memo = query_scope(query, branch, environment, tables)
        memo = Memo() if joins else memo
        with in_own_words(scope):
            words = _words(outer, scope)
            binder = _PartBinder(query, plan, branch, scope, joins, words, environment, memo)
            parts.append(binder.part(number, tables))
    relation = Union(tuple(branch.relation(_met(parts)) for branch in stream.branches))
    return replace(plan, relation=relation, tree=relation, parts=tuple(parts))


def row_query_of(rows: RowQuery, stream: BoundStream, parts: Sequence[RowQuery]) -> RowQuery:
    """The same of a query without a window; `parts` are bound over the branches."""
    named = tuple(
        replace(part, name=part_name(rows.name, number), part_of=rows.name)
        for number, part in enumerate(parts, start=1)
    )
    relation = Union(tuple(branch.relation(_met(parts)) for branch in stream.branches))
    return replace(rows, relation=relation, tree=relation, parts=named)


def _met(parts: Iterable[AnyQuery]) -> Callable[[JoinTerms], Join]:
    """The joins that the parts have met, by their terms."""
    joins = {join.name: join for part in parts for join in part.relation.joins}
    return lambda terms: joins[terms.name]


def _words(outer: Scope, inner: Scope) -> Scope:
    """The names of the outer scope, for what they stand in the inner one, which has equal parts."""
    declared, trees = dict[Name, ColumnDef](), dict[Name, exp.Expr]()
    for entry, other in zip(outer.visible, inner.visible, strict=True):
        for name, column in entry.declared.items():
            resolved = entry.resolved(column)
            declared[Name(resolved.name)], trees[Name(resolved.name)] = resolved, other.tree(name)
    entry = ScopeEntry(Name(""), "stream", outer.entries[0].name, declared, trees=trees)
    return Scope((entry,), outer.aggregates)
