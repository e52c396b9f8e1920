"""The relation that a query reads, as a tree: streams at its leaves, its rows at the root.

A node is checked when it is made, so a tree that exists makes sense: every column that is
named is there, and parts that are put together have equal columns. `columns` are those of a
row, `sources` the streams that rows come from. The window of a query stands over its relation,
not in it; where a query joins several, each is a node over what it reads.

>>> from tidemill.types import BIGINT, TIMESTAMP
>>> packets = Source(Name("Packets"), (Slot("ts", TIMESTAMP), Slot("length", BIGINT)))
>>> print(Union((packets, Source(Name("flows"), packets.columns))))
union all of 2 branches
  stream Packets
  stream flows
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import TypeVar

from tidemill.durations import render_duration
from tidemill.errors import listing, refuse, suggest
from tidemill.ids import hash_once
from tidemill.language.names import Name, quote_name
from tidemill.language.statements import Window
from tidemill.plan.expressions import Scalar, Slot
from tidemill.plan.joins import Join, JoinTerms
from tidemill.plan.window_join import item_prefix
from tidemill.types import BOOLEAN, VOID

Terms = TypeVar("Terms", bound=JoinTerms)


class Relation(ABC):
    """Rows with columns; equal relations have the same rows."""

    @property
    def inputs(self) -> tuple[Relation, ...]:
        """The relations right below this one."""
        return ()

    @property
    @abstractmethod
    def columns(self) -> tuple[Slot, ...]:
        """The names and types of the rows' values."""

    @property
    @abstractmethod
    def title(self) -> str:
        """This node in a line, without what is below it."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """The streams that rows come from, each once."""
        return tuple(dict.fromkeys(s for below in self.inputs for s in below.sources))

    @cached_property
    def stream_names(self) -> tuple[Name, ...]:
        """Their names, which are asked of every query again and again."""
        return tuple(source.name for source in self.sources)

    @property
    def joins(self) -> tuple[Join, ...]:
        """The tables whose columns stand beside those of `base`, in the order they are joined."""
        return ()

    @property
    def base(self) -> Relation:
        """The relation below those joins."""
        return self

    @property
    def multiplies(self) -> bool:
        """True if a row of `base` may be several here, so that it cannot be counted."""
        return any(join.multiplies for join in self.joins)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Relation]]:
        """Every node and its depth, parents first."""
        yield depth, self
        for below in self.inputs:
            yield from below.walk(depth + 1)

    def __str__(self) -> str:
        return "\n".join(f"{'  ' * depth}{node.title}" for depth, node in self.walk())


@hash_once
@dataclass(frozen=True)
class Source(Relation):
    """A stream of the catalog.

    The name alone tells two of them apart: a catalog has one stream of a name, and while it is
    read its columns may only become more.
    """

    name: Name
    declared: tuple[Slot, ...] = field(compare=False)
    is_latent: bool = field(default=False, compare=False)
    origin: str = field(default="", compare=False)  # of rows that ticks of other streams give

    def __post_init__(self) -> None:
        _check_names(f"stream {self.name.written}", self.columns)

    @property
    def columns(self) -> tuple[Slot, ...]:
        return self.declared

    @property
    def title(self) -> str:
        origin = f": {self.origin}" if self.origin else ""
        return f"stream {self.name.written}{origin}"

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self,)


@dataclass(frozen=True)
class Projection:
    """A column of a derived relation, and the expression that it has for value."""

    name: str
    scalar: Scalar

    def __str__(self) -> str:
        name = quote_name(self.name)
        return name if self.scalar.sql == name else f"{self.scalar.sql} AS {name}"


@dataclass(frozen=True)
class Derived(Relation):
    """The rows of a stream: those of a relation that pass a condition, with other columns.

    The expressions are over what that relation is based on, however many streams lie between,
    and whoever reads this one has the same base and the same joins.
    """

    name: Name
    over: Relation
    projections: tuple[Projection, ...]
    where: Scalar | None = None

    def __post_init__(self) -> None:
        _check_names(f"stream {self.name.written}", self.columns)
        where = (self.where,) if self.where else ()
        check_reads(self.over, (*where, *(p.scalar for p in self.projections)))
        if self.where and self.where.type not in (BOOLEAN, VOID):
            refuse("E_TYPE", f"the condition {self.where.sql} is {self.where.type}, not BOOLEAN")

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.over,)

    @property
    def columns(self) -> tuple[Slot, ...]:
        return tuple(Slot(p.name, p.scalar.type) for p in self.projections)

    @property
    def title(self) -> str:
        condition = f" where {self.where.sql}" if self.where else ""
        return (
            f"stream {self.name.written}: select {', '.join(map(str, self.projections))}{condition}"
        )

    @property
    def joins(self) -> tuple[Join, ...]:
        return self.over.joins

    @property
    def base(self) -> Relation:
        return self.over.base


@dataclass(frozen=True)
class Union(Relation):
    """The rows of all parts; their columns are equal, in their order."""

    parts: tuple[Relation, ...]

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            refuse("E_RELATION", f"a union has two parts or more, not {len(self.parts)}")
        first = self.parts[0]
        for part in self.parts[1:]:
            if part.columns != first.columns:
                refuse(
                    "E_RELATION",
                    f"the columns of {part.title} are not those of {first.title}",
                    detail=f"{_columns_of(first)}\n{_columns_of(part)}",
                    hint="give the parts equal columns, of equal types and in one order",
                )

    @property
    def base(self) -> Relation:
        return self

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.parts

    @property
    def columns(self) -> tuple[Slot, ...]:
        return self.parts[0].columns

    @property
    def title(self) -> str:
        return f"union all of {len(self.parts)} branches"


@dataclass(frozen=True)
class WindowOf(Relation):
    """The rows of a window, under the name that a query gives it."""

    name: str
    window: Window
    over: Relation

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.over,)

    @property
    def columns(self) -> tuple[Slot, ...]:
        return self.over.columns

    @property
    def title(self) -> str:
        return f"window {quote_name(self.name)} of {render_duration(self.window.range_us)}"


@dataclass(frozen=True)
class JoinedWindows(Relation):
    """The rows of several windows as a query joins them, or looks into them.

    `names` are those of the parts of FROM, after which columns are called.
    """

    windows: tuple[WindowOf, ...]
    names: tuple[str, ...] = field(compare=False)

    @property
    def base(self) -> Relation:
        return self

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.windows

    @property
    def columns(self) -> tuple[Slot, ...]:
        return tuple(
            Slot(f"{item_prefix(number)}{column.name}", column.type)
            for number, window in enumerate(self.windows)
            for column in window.columns
        )

    @property
    def title(self) -> str:
        return f"join of {len(self.windows)} windows"


@dataclass(frozen=True)
class TableJoin(Relation):
    """A relation with the columns of a table beside its own."""

    over: Relation
    join: Join

    def __post_init__(self) -> None:
        if self.join in self.over.joins:
            refuse("E_DUPLICATE", f"table {self.join.table} is joined twice in the same way")
        check_reads(self.over, self.join.scalars, self.join)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.over,)

    @property
    def columns(self) -> tuple[Slot, ...]:
        return (*self.over.columns, *self.join.columns, self.join.partner)

    @property
    def title(self) -> str:
        join, table = self.join, quote_name(self.join.table)
        alias = "" if Name(join.alias) == Name(join.table) else f" AS {quote_name(join.alias)}"
        return f"{join.kind} join {table}{alias} ON {join.sql}"

    @property
    def joins(self) -> tuple[Join, ...]:
        return (*self.over.joins, self.join)

    @property
    def base(self) -> Relation:
        return self.over.base


def join_all(base: Relation, joins: Iterable[Join]) -> Relation:
    """The relation with these tables joined to it, each once and in canonical order."""
    return reduce(TableJoin, ordered(joins), base)


def ordered(joins: Iterable[Terms], below: Iterable[JoinTerms] = ()) -> tuple[Terms, ...]:
    """Each once and by name, as far as they do not build on others: those may change places.

    `below` are there already.
    """
    waiting, placed = sorted(dict.fromkeys(joins), key=lambda join: join.name), list[Terms]()
    beneath = {join.name for join in below}
    while waiting:
        names = beneath | {join.name for join in placed}
        placed.append(next(join for join in waiting if join.builds_on <= names))
        waiting.remove(placed[-1])
    return tuple(placed)


def merge_relations(relations: Iterable[Relation]) -> Relation:
    """One relation with the tables of all; below these they are equal."""
    distinct = tuple(dict.fromkeys(relations))
    if len(distinct) == 1:
        return distinct[0]
    return join_all(distinct[0].base, (join for each in distinct for join in each.joins))


def multiplying(relation: Relation) -> Relation:
    """The relation with just the joins that make several rows of one, and what they build on.

    Other joins leave the rows as they are, so that queries with and without them can share.
    """
    if all(join.multiplies for join in relation.joins):
        return relation
    by_name = {join.name: join for join in relation.joins}
    names = {join.name for join in relation.joins if join.multiplies}
    while below := {name for each in names for name in by_name[each].builds_on} - names:
        names |= below
    return join_all(relation.base, (by_name[name] for name in names))


def source_names(relation: Relation) -> tuple[Name, ...]:
    """The streams that rows come from: state, ticks and the tick log go by their names."""
    return relation.stream_names


def source_name(relation: Relation) -> Name:
    """The one stream that the rows of a synopsis, or of a part of a query, come from."""
    (name,) = source_names(relation)
    return name


def check_reads(relation: Relation, scalars: Iterable[Scalar], *joins: Join) -> None:
    """Refuses an expression over anything but the relation, and the joins given beside it."""
    columns = [column.name for column in relation.base.columns]
    tables = [join.name for join in (*relation.joins, *joins)]
    for scalar in scalars:
        _check_known("E_UNKNOWN_COLUMN", "column", scalar, scalar.columns, columns)
        joined = tuple(column.join for column in scalar.joined)
        _check_known("E_RELATION", "join", scalar, joined, tables)


def _check_known(
    code: str, kind: str, scalar: Scalar, names: tuple[str, ...], choices: list[str]
) -> None:
    for name in names:
        if name not in choices:
            refuse(
                code,
                f"no {kind} '{name}' for {scalar.sql}",
                detail=listing(f"{kind}s", choices),
                hint=suggest(name, choices),
            )


def _check_names(title: str, columns: tuple[Slot, ...]) -> None:
    if not columns:
        refuse("E_RELATION", f"{title} has no columns")
    names = [Name(column.name) for column in columns]
    for name in names:
        if names.count(name) > 1:
            detail = listing("columns", (column.name for column in columns))
            refuse("E_DUPLICATE", f"{title} has two columns '{name}'", detail=detail)


def _columns_of(relation: Relation) -> str:
    return listing(relation.title, (f"{c.name} {c.type}" for c in relation.columns))
