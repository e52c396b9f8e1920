"""Derived streams: each statement as a branch over its source, or why it has no meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tidemill.catalog import Catalog, Table
from tidemill.catalog.definitions import check_columns
from tidemill.errors import Place, listing, refuse, suggest
from tidemill.language.names import Name, quote_name
from tidemill.language.statements import (
    CreateDerivedStream,
    CreateQuery,
    Expr,
    JoinClause,
    RowSelect,
    SelectItem,
    Star,
)
from tidemill.plan.bind.branch import (
    BoundStream,
    Branch,
    BranchColumn,
    narrowed,
    source_branch,
)
from tidemill.plan.bind.clauses import (
    ScalarBinder,
    TypeOracle,
    check_condition,
    refuse_aggregates,
)
from tidemill.plan.bind.environment import Environment, Memo
from tidemill.plan.bind.joins import JoinBinder
from tidemill.plan.bind.scope import Scope, ScopeEntry, in_own_words, refuse_filter
from tidemill.plan.bind.unions import place_of_time, union_branch, unite
from tidemill.plan.expressions import Scalar
from tidemill.plan.joins import JoinTerms
from tidemill.types import VOID

_NO_GROUPS = (
    "rows of a stream are not grouped; aggregate in the queries that read it, or over a window"
)


def bind_joins(
    below: Branch,
    scope: Scope,
    clauses: Sequence[JoinClause],
    tables: Sequence[Table],
    oracle: TypeOracle,
) -> tuple[Scope, tuple[JoinTerms, ...]]:
    """The scope with the tables in it, and the terms on which they are joined to a stream."""
    names, joins = [terms.name for terms, _ in below.all_joins], list[JoinTerms]()
    for clause, table in zip(clauses, tables, strict=True):
        scope, join = JoinBinder(scope, clause, table, oracle, below.where).bind(names)
        joins.append(join)
        names.append(join.name)
    return scope, tuple(joins)


def query_scope(
    query: CreateQuery, branch: Branch, environment: Environment, tables: tuple[Table, ...]
) -> tuple[Scope, tuple[JoinTerms, ...], Memo]:
    """The columns that a query may name, the terms of its joins, and what is known without them."""
    select, qualifier = query.select, query.select.qualifier
    memo = environment.memo.recall((branch, Name(qualifier).written), Memo)
    scope = memo.recall("scope", lambda: branch.scope(qualifier, environment.signatures))
    return (*bind_joins(branch, scope, select.joins, tables, environment.type_of), memo)


def bound_stream(
    name: str, catalog: Catalog, environment: Environment, place: Place | None = None
) -> BoundStream:
    """A stream of the catalog; one and the same value as long as nothing of it changes."""
    statement, recall = catalog.derived_stream(name, place), environment.memo.recall
    if statement is None:
        stream = catalog.stream(name, place)
        branch = recall(("branch", stream), lambda: source_branch(stream))
        return recall(("stream", branch), lambda: BoundStream.of(branch))
    question = ("stream", statement, catalog.read_by(*statement.members))
    return recall(question, lambda: _derived(statement, catalog, environment))


def _derived(
    stream: CreateDerivedStream, catalog: Catalog, environment: Environment
) -> BoundStream:
    first = _member(stream, stream.select, catalog, environment)
    if not stream.others:
        return first
    names = tuple(column.name for column in first.face.columns)
    others = (_member(stream, other, catalog, environment, names) for other in stream.others)
    members = (first, *others)
    return unite(stream, members, environment.signatures, environment.type_of)


def _member(
    stream: CreateDerivedStream,
    select: RowSelect,
    catalog: Catalog,
    environment: Environment,
    names: tuple[str, ...] | None = None,
) -> BoundStream:
    """One SELECT of a stream; over a union it means the same in each branch.

    `names` are those of the columns, by place, where they do not name themselves.
    """
    below = bound_stream(select.stream, catalog, environment, select.stream_place)
    face = _selected(stream, select, below.face, catalog, environment, names)
    if not below.is_union:
        return BoundStream.of(face)
    place = place_of_time(face)
    branches = (
        _selected(stream, select, branch, catalog, environment, names, place)
        for branch in below.branches
    )
    return BoundStream(union_branch(face, below.branches), tuple(branches))


def _selected(
    stream: CreateDerivedStream,
    select: RowSelect,
    below: Branch,
    catalog: Catalog,
    environment: Environment,
    names: tuple[str, ...] | None = None,
    place_of_time: int | None = None,
) -> Branch:
    """The branch that a SELECT makes of another one."""
    tables = tuple(catalog.table(join.name, join.place) for join in select.joins)
    scope = below.scope(select.qualifier, environment.signatures)
    scope, joins = bind_joins(below, scope, select.joins, tables, environment.type_of)
    scalars = ScalarBinder(scope, environment.type_of)
    with in_own_words(scope):
        binder = _Binder(stream.name, select, below, scope, scalars, names, place_of_time)
        return binder.branch(joins, tables)


@dataclass(frozen=True)
class _Item:
    """One column of the list, with stars written out."""

    name: str
    expr: Expr
    tree: exp.Expr


@dataclass(frozen=True)
class _Binder:
    """Binds the list and the condition of one stream over what it reads.

    Columns name themselves unless they have `names`, as the members of a union after the first
    do; where the time stands among them is looked up, unless it is known.
    """

    name: str
    select: RowSelect
    below: Branch
    scope: Scope
    scalars: ScalarBinder
    names: tuple[str, ...] | None = None
    place_of_time: int | None = None

    def branch(self, joins: tuple[JoinTerms, ...], tables: tuple[Table, ...]) -> Branch:
        items = tuple(self._items())
        columns = tuple(self._column(item) for item in items)
        condition, where = self._where() or (None, self.below.where)
        definitions = tuple(
            replace(column.definition, place=item.expr.place)
            for column, item in zip(columns, items, strict=True)
        )
        check_columns(definitions)
        return Branch(
            name=self.name,
            source=self.below.source,
            columns=definitions,
            time_column=self._time(columns),
            over=self.below,
            trees=columns,
            joins=joins,
            tables=tables,
            row=tuple(replace(e, hidden=True) for e in self.scope.entries if not e.trees),
            where=where,
            condition=condition,
        )

    def _items(self) -> Iterator[_Item]:
        """Named, if need be by their places; beyond the names of others by these alone."""
        if self.names is None:
            yield from self._selected()
            return
        for place, item in enumerate(self._selected()):
            is_named = place < len(self.names)
            yield replace(item, name=self.names[place] if is_named else f"_{place}")

    def _selected(self) -> Iterator[_Item]:
        for item in self.select.items:
            if isinstance(item, Star):
                yield from self._all(item)
                continue
            tree = self.scope.resolve(item.expr)
            name = item_name(item)
            if not name and self.names is None:
                refuse(
                    "E_NAME",
                    f"a column of stream {self.name} has no name",
                    hint=f"give it one: {item.expr.sql} AS …",
                    place=item.expr.place,
                )
            yield _Item(name, item.expr, tree)

    def _all(self, star: Star) -> Iterator[_Item]:
        for entry, name in self._starred(star):
            written = entry.declared[name].name
            yield _Item(written, Expr(quote_name(written), star.place), entry.tree(name))

    def _starred(self, star: Star) -> list[tuple[ScopeEntry, Name]]:
        if star.qualifier is not None:
            entry = self._part(star.qualifier, star.place)
            return [(entry, name) for name in entry.declared]
        return self.scope.starred

    def _part(self, qualifier: str, place: Place | None) -> ScopeEntry:
        by_qualifier = {entry.qualifier: entry for entry in self.scope.visible}
        if Name(qualifier) not in by_qualifier:
            choices = [name.written for name in by_qualifier]
            refuse(
                "E_UNKNOWN_NAME",
                f"no part of FROM is called '{qualifier}'",
                detail=listing("choices", choices),
                hint=suggest(qualifier, choices),
                place=place,
            )
        return by_qualifier[Name(qualifier)]

    def _column(self, item: _Item) -> BranchColumn:
        aggregates = self.scope.aggregates
        refuse_aggregates("CREATE STREAM", item.expr, item.tree, aggregates, _NO_GROUPS)
        refuse_filter(item.expr, item.tree)
        scalar = self.scalars.bind(item.expr, item.tree)
        if scalar.type == VOID:
            refuse(
                "E_TYPE",
                f"column {item.name} is NULL and of no type",
                hint="write CAST(NULL AS …)",
                place=item.expr.place,
            )
        return BranchColumn(item.name, scalar, _tree(item.tree, scalar))

    def _where(self) -> tuple[Scalar, exp.Expr] | None:
        """The stream's own condition, and with those of the streams below it."""
        expr = self.select.where
        if expr is None:
            return None
        tree = self.scope.resolve(expr)
        refuse_aggregates("WHERE", expr, tree, self.scope.aggregates, _NO_GROUPS)
        scalar = self.scalars.bind(expr, tree)
        check_condition("WHERE", scalar.type, expr.place)
        return scalar, narrowed(self.below.where, _without_places(tree), scalar)

    def _time(self, columns: tuple[BranchColumn, ...]) -> str:
        """The first column that is the time of the row itself; none over a latent stream."""
        if self.place_of_time is not None:
            return columns[self.place_of_time].name
        time = self.scope.time
        if time is None:
            return ""
        for column in columns:
            if column.tree == time:
                return column.name
        below = self.below
        refuse(
            "E_NO_TIME",
            f"stream {self.name} has no time: no column is {below.time_column} of "
            f"{below.name} as it is",
            hint=f"select it, under any name: SELECT {quote_name(below.time_column)}, …",
            place=self.select.place,
        )


def item_name(item: SelectItem) -> str:
    """The name that is given, or that of a plain column; empty for other expressions."""
    tree = item.expr.tree
    return item.alias or (str(tree.name) if isinstance(tree, exp.Column) else "")


def _tree(tree: exp.Expr, scalar: Scalar) -> exp.Expr:
    """The tree that a name of the column stands for; a constant keeps the type of its column."""
    if not scalar.names and not isinstance(tree.unnest(), exp.Cast):
        tree = exp.cast(tree.copy(), scalar.type.sql, dialect="spark")
    return _without_places(tree)


def _without_places(tree: exp.Expr) -> exp.Expr:
    """A copy that can stand in other statements, where these places mean nothing."""
    tree = tree.copy()
    for node in tree.walk():
        node.meta.clear()
    return tree.unnest()
