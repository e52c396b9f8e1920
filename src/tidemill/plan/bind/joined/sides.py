"""The sides of a join of windows: what FROM, EXISTS and IN name, as one scope.

Every stream and every table of FROM is an *item* with a number. In the expressions of the whole
query a column is called after its item, `_s2_port`; a side is a stream's window with the tables
joined to it, and in its own scope these columns are those of the side alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from tidemill.catalog import Table
from tidemill.errors import Place, refuse
from tidemill.language.names import Name, by_name, needs_quotes
from tidemill.language.not_built import refuse_unbuilt
from tidemill.language.statements import ColumnDef, CreateQuery, JoinClause
from tidemill.plan.bind.branch import BoundStream, Branch
from tidemill.plan.bind.environment import Environment
from tidemill.plan.bind.scope import Scope, ScopeEntry
from tidemill.plan.bind.streams import query_scope
from tidemill.plan.functions import Signatures
from tidemill.plan.joins import JoinTerms
from tidemill.plan.window_join import item_number, item_prefix


@dataclass(frozen=True)
class FromItem:
    """A stream or a table, as FROM names it; `entry` is what it is in the scope of its side."""

    number: int
    side: int
    entry: ScopeEntry

    def column(self, declared: ColumnDef) -> ColumnDef:
        """A column of it, under its name in the whole query."""
        return replace(declared, name=f"{item_prefix(self.number)}{declared.name}")

    @property
    def columns(self) -> tuple[ColumnDef, ...]:
        return tuple(map(self.column, self.entry.declared.values()))

    def visible(self, merged: frozenset[Name] = frozenset()) -> ScopeEntry:
        """Its entry in the whole query; columns that USING has merged need their qualifier."""
        trees = {name: column_tree(self.column(c)) for name, c in self.entry.declared.items()}
        return replace(self.entry, join="", merged=merged, trees=trees)


def column_tree(column: ColumnDef) -> exp.Column:
    """A column as a resolved tree."""
    return exp.column(exp.to_identifier(column.name, quoted=needs_quotes(column.name)))


@dataclass(frozen=True, eq=False)
class BoundSide:
    """A window of the query. `query` asks for its stream, and joins its tables to it."""

    number: int
    name: str
    stream: BoundStream
    query: CreateQuery
    tables: tuple[Table, ...]
    items: tuple[FromItem, ...]
    place: Place | None = field(default=None, compare=False)

    def scope_of(
        self, branch: Branch, environment: Environment
    ) -> tuple[Scope, tuple[JoinTerms, ...]]:
        """The scope of the side over a branch, and the terms of its tables."""
        scope, joins, _ = query_scope(self.query, branch, environment, self.tables)
        return scope, joins

    def words(self, scope: Scope) -> Scope:
        """Its columns by their names in the whole query, as trees in the scope over a branch."""
        declared, trees = dict[Name, ColumnDef](), dict[Name, exp.Expr]()
        for item, entry in zip(self.items, scope.visible, strict=True):
            for name, column in item.entry.declared.items():
                outer = item.column(column)
                declared[Name(outer.name)], trees[Name(outer.name)] = outer, entry.tree(name)
        entry = ScopeEntry(Name(""), "stream", self.name, declared, trees=trees)
        return Scope((entry,), scope.aggregates)


@dataclass(frozen=True)
class FromScope:
    """The items that an expression may name, over all columns that there are."""

    items: tuple[FromItem, ...]  # of the whole query: hidden ones too, for the columns
    visible: tuple[ScopeEntry, ...]
    signatures: Signatures

    @cached_property
    def scope(self) -> Scope:
        columns = by_name(column for item in self.items for column in item.columns)
        base = ScopeEntry(Name(""), "join", "of windows", columns, hidden=True)
        return Scope((base, *self.visible), self.signatures)


def check_qualifier(entries: Iterable[ScopeEntry], clause: JoinClause) -> None:
    """Refuses a name that another part of FROM has."""
    if Name(clause.qualifier) in (entry.qualifier for entry in entries):
        refuse(
            "E_DUPLICATE",
            f"two parts of FROM are called '{clause.qualifier}'",
            hint=f"give this one another name: JOIN {clause.name} AS …",
            place=clause.place,
        )


def sides_of(tree: exp.Expr, items: Sequence[FromItem]) -> frozenset[int]:
    """The sides whose columns a resolved tree reads."""
    numbers = (item_number(column.name) for column in tree.find_all(exp.Column))
    return frozenset(items[number].side for number in numbers if number is not None)


def refuse_corrections(side: BoundSide) -> None:
    """Refuses a stream whose late rows would correct what a join has answered."""
    if side.stream.face.source.correct_us:
        refuse_unbuilt(
            f"a join with stream {side.query.select.stream}, whose late rows correct answers,",
            "leave correct out of the stream, and allow for more lateness",
            side.place,
        )
