"""A branch: what a stream is over the one source that its rows come from.

Streams are never materialised: a name of one resolves to an expression over columns of the
source, and of tables joined on the way, so queries over streams are queries over their source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from tidemill.catalog import Stream, Table
from tidemill.language.names import Name, by_name
from tidemill.language.statements import ColumnDef, Expr, JoinClause
from tidemill.plan.bind.clauses import ScalarBinder, check_condition, refuse_aggregates
from tidemill.plan.bind.environment import ExtentOracle
from tidemill.plan.bind.scope import Scope, ScopeEntry
from tidemill.plan.expressions import Scalar, Slot
from tidemill.plan.functions import Signatures
from tidemill.plan.joins import Join, JoinTerms
from tidemill.plan.relation import Derived, Projection, Relation, Source, TableJoin, ordered

JoinOf = Callable[[JoinTerms], Join]
"""Terms ⇒ the join of the rows that are there now."""
_ALL = Expr("TRUE")  # what a query without WHERE says of rows


@dataclass(frozen=True)
class BranchColumn:
    """A column of a derived stream; the tree speaks of the source and its tables."""

    name: str
    scalar: Scalar
    tree: exp.Expr

    @property
    def definition(self) -> ColumnDef:
        return ColumnDef(self.name, self.scalar.type)


@dataclass(frozen=True, eq=False)
class Branch:
    """A stream as its readers see it; without `over` it is its own source.

    Over a latent source it is latent too, and has no time column either.
    `joins` are those that the stream states itself, and `row` is what its rows are made of.
    """

    name: str
    source: Stream
    columns: tuple[ColumnDef, ...]
    time_column: str
    over: Branch | None = None
    trees: tuple[BranchColumn, ...] = ()
    joins: tuple[JoinTerms, ...] = ()
    tables: tuple[Table, ...] = ()
    row: tuple[ScopeEntry, ...] = ()
    where: exp.Expr | None = None  # of this stream and of those that it reads
    condition: Scalar | None = None  # its own

    @property
    def is_latent(self) -> bool:
        """True if rows carry no time, and windows are over that of their arrival."""
        return not self.time_column

    @property
    def all_joins(self) -> tuple[tuple[JoinTerms, Table], ...]:
        """With the tables; those of streams below it come first."""
        below = self.over.all_joins if self.over else ()
        return (*below, *zip(self.joins, self.tables, strict=True))

    def scope(self, qualifier: str, signatures: Signatures) -> Scope:
        """The names that a reader of the stream may use."""
        trees = {Name(column.name): column.tree for column in self.trees}
        entry = ScopeEntry(Name(qualifier), "stream", self.name, by_name(self.columns), trees=trees)
        return Scope((*self.row, entry), signatures, self.source.time_column)

    def relation(self, join_of: JoinOf) -> Relation:
        """The rows as a tree."""
        if self.over is None:
            return source_of(self.source)
        below = with_joins(self.over.relation(join_of), self.joins, join_of)
        projections = tuple(Projection(column.name, column.scalar) for column in self.trees)
        return Derived(Name(self.name), below, projections, self.condition)


@dataclass(frozen=True, eq=False)
class BoundStream:
    """A stream as its readers see it: one branch, or several whose rows it puts together.

    `face` has the names and types of its columns; where there is one branch, it is that one.
    """

    face: Branch
    branches: tuple[Branch, ...]

    @staticmethod
    def of(branch: Branch) -> BoundStream:
        return BoundStream(branch, (branch,))

    @property
    def is_union(self) -> bool:
        return len(self.branches) > 1


def source_branch(stream: Stream) -> Branch:
    """A stream that has rows of its own."""
    return Branch(stream.name, stream, stream.columns, stream.time_column)


def source_of(stream: Stream) -> Source:
    """A stream as a relation."""
    slots = tuple(Slot(column.name, column.type) for column in stream.columns)
    return Source(Name(stream.name), slots, stream.is_latent, stream.origin)


def with_joins(below: Relation, joins: tuple[JoinTerms, ...], join_of: JoinOf) -> Relation:
    """The relation with tables beside it."""
    return reduce(TableJoin, map(join_of, ordered(joins, below.joins)), below)


def narrowed(outer: exp.Expr | None, tree: exp.Expr, scalar: Scalar) -> exp.Expr:
    """A condition on rows that pass the outer one: where it may raise, it is asked of just them."""
    if outer is None:
        return tree
    first: exp.Expr = exp.Paren(this=outer.copy())
    if scalar.may_raise:
        # Where the first is NULL, AND would ask the second.
        first = exp.Is(this=first, expression=exp.Boolean(this=True))
    return exp.And(this=first, expression=exp.Paren(this=tree.copy()))


def where_over(
    branch: Branch, scalars: ScalarBinder, expr: Expr | None, hint: str = ""
) -> Scalar | None:
    """The condition of a query over a stream, and before it those of the streams that it reads.

    `hint` says where a condition on aggregates goes.
    """
    if expr is None:
        return None if branch.where is None else scalars.bind(_ALL, branch.where)
    tree = scalars.scope.resolve(expr)
    refuse_aggregates("WHERE", expr, tree, scalars.scope.aggregates, hint)
    scalar = scalars.bind(expr, tree)
    check_condition("WHERE", scalar.type, expr.place)
    if branch.where is None:
        return scalar
    return scalars.bind(expr, narrowed(branch.where, tree, scalar))


def joins_met(
    branch: Branch,
    joins: Sequence[JoinTerms],
    tables: Sequence[Table],
    clauses: Sequence[JoinClause],
    extent_of: ExtentOracle,
) -> dict[JoinTerms, Join]:
    """All joins of a query with the rows of their tables, asked for when all else is bound."""
    extents = {terms: extent_of(terms, table, None) for terms, table in branch.all_joins}
    for terms, table, clause in zip(joins, tables, clauses, strict=True):
        extents[terms] = extent_of(terms, table, clause.place)
    return {terms: terms.over(extent) for terms, extent in extents.items()}


def tree_over(
    branch: Branch, joins: tuple[JoinTerms, ...], met: Mapping[JoinTerms, Join]
) -> Relation:
    """The rows of a query as a tree, with the streams by way of which it reads them."""
    return with_joins(branch.relation(met.__getitem__), joins, met.__getitem__)
