"""The statements of a script as frozen values, compared by meaning; their places stay aside.

>>> Expr("SUM(length) > 10").tree.find(exp.Column).name
'length'
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from sqlglot import exp

from tidemill.errors import Place
from tidemill.ids import hash_once
from tidemill.language.expressions.trees import parse_tree, place_of_tree
from tidemill.types import Type

Options: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Expr:
    """A scalar or aggregate expression as canonical text, which is also Spark SQL."""

    sql: str
    place: Place | None = field(default=None, compare=False, repr=False)
    # The tree as it was read from the script: equal to what `sql` parses to, but with places.
    source: exp.Expr | None = field(default=None, compare=False, repr=False)
    # Where in the script the text begins that places in `source` are counted in.
    begin: int = field(default=0, compare=False, repr=False)

    @property
    def tree(self) -> exp.Expr:
        """A fresh syntax tree, the caller's to change."""
        return (self.source or parse_tree(self.sql)).copy()

    def place_of(self, node: exp.Expr) -> Place | None:
        """The place of a node of `tree` in the script; the whole expression when unknown."""
        inside = place_of_tree(node) if self.source else None
        return inside.moved(self.begin) if inside else self.place

    def __str__(self) -> str:
        return self.sql


@dataclass(frozen=True, kw_only=True)
class _Placed:
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class _Whole(_Placed):
    """A statement; `place` is its name, `text_place` all of it."""

    text_place: Place = field(default=Place(0, 0), compare=False, repr=False)


@hash_once
@dataclass(frozen=True)
class Window(_Placed):
    """Windows `[k·slide + start, k·slide + start + range)` for every integer k and range.

    `range_us` is the first length, which most windows have alone. A soft one is answered at
    most `slide_us` after it was answered last, where there is capacity; 0: at every update.
    Its windows end at multiples of `update_us`, which the stream says.
    """

    range_us: int
    slide_us: int
    start_us: int = 0
    other_ranges_us: tuple[int, ...] = ()
    is_soft: bool = False
    update_us: int = 0

    @property
    def grid_us(self) -> int:
        """The least distance between two of its windows."""
        return self.update_us if self.is_soft else self.slide_us

    @property
    def updates(self) -> int:
        """The number of updates that a soft window allows between two answers."""
        return max(1, self.slide_us // self.update_us)

    @property
    def ranges_us(self) -> tuple[int, ...]:
        """All lengths, distinct, in the order written."""
        return (self.range_us, *self.other_ranges_us)


@dataclass(frozen=True)
class ColumnDef(_Placed):
    name: str
    type: Type


@dataclass(frozen=True)
class SelectItem(_Placed):
    expr: Expr
    alias: str | None = None


@dataclass(frozen=True)
class OrderItem(_Placed):
    """A sort key; where NULLs go is always said."""

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class JoinClause(_Placed):
    """A table, or a window of a stream, joined to what stands before it in FROM.

    `kind` is INNER, LEFT, RIGHT, FULL, CROSS, LEFT SEMI, LEFT ANTI, or a comma; a table has one
    of the first two. Either `on` or `using` is there, but for CROSS and commas. `place` is the
    name, `condition_place` what follows ON or USING.
    """

    kind: str
    name: str
    alias: str | None
    on: Expr | None = None
    using: tuple[str, ...] = ()
    window: Window | None = None
    condition_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def qualifier(self) -> str:
        """What stands in front of its columns."""
        return self.alias or self.name.rpartition(".")[2]


@dataclass(frozen=True)
class Subquery(_Placed):
    """A condition of WHERE: `[NOT] EXISTS (SELECT …)` or `subject [NOT] IN (SELECT item …)`."""

    negated: bool
    stream: str
    alias: str | None
    window: Window | None
    where: Expr | None = None
    subject: Expr | None = None
    item: Expr | None = None
    stream_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def qualifier(self) -> str:
        """What stands in front of its columns."""
        return self.alias or self.stream.rpartition(".")[2]


@dataclass(frozen=True)
class Emit(_Placed):
    """When answers come: as windows close, before that too, and of windows without rows.

    With `every_us`, open windows are answered as the watermark passes each multiple of it.
    """

    every_us: int = 0
    empty_windows: bool = False

    @property
    def is_default(self) -> bool:
        """True if every window with rows is answered once, as it closes."""
        return not self.every_us and not self.empty_windows


ON_CLOSE = Emit()


class Delta(StrEnum):
    """What of an answer is delivered: all its rows, those that the answer one slide before had
    not, or those that this one had and that have gone."""

    NONE = ""
    NEW = "ISTREAM"
    GONE = "DSTREAM"


@dataclass(frozen=True)
class Select(_Placed):
    """One SELECT over windows of streams and the tables joined to them, or over one stream's rows.

    `subqueries` are conditions beside `where`, all of which have to hold.
    """

    items: tuple[SelectItem, ...]
    stream: str
    stream_alias: str | None
    window: Window | None
    where: Expr | None = None
    group_by: tuple[Expr, ...] = ()
    having: Expr | None = None
    order_by: tuple[OrderItem, ...] = ()
    limit: int | None = None
    joins: tuple[JoinClause, ...] = ()
    emit: Emit = ON_CLOSE
    delta: Delta = Delta.NONE
    distinct: bool = False
    subqueries: tuple[Subquery, ...] = ()
    stream_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)
    delta_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def windows(self) -> tuple[Window, ...]:
        """Those of FROM."""
        windows = (self.window, *(join.window for join in self.joins))
        return tuple(window for window in windows if window is not None)

    @property
    def leading_window(self) -> Window | None:
        """The window whose slide all others follow; the first if none has one of its own."""
        return next((w for w in self.windows if not w.is_soft), self.window)

    @property
    def joins_windows(self) -> bool:
        """True if it reads a window beside the first one."""
        return bool(self.subqueries) or any(join.window is not None for join in self.joins)

    @property
    def is_soft(self) -> bool:
        """True if its windows have a soft period: none of them slides at fixed times."""
        inner = (subquery.window for subquery in self.subqueries)
        windows = (*self.windows, *inner)
        return self.window is not None and all(w is None or w.is_soft for w in windows)

    @property
    def stream_places(self) -> tuple[tuple[str, Place | None], ...]:
        """What it has windows or rows of, in the order of the text."""
        joined = ((join.name, join.place) for join in self.joins if join.window is not None)
        inner = ((subquery.stream, subquery.stream_place) for subquery in self.subqueries)
        return ((self.stream, self.stream_place), *joined, *inner)

    @property
    def streams(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(name for name, _ in self.stream_places)

    @property
    def tables(self) -> tuple[str, ...]:
        """What it joins to them."""
        return tuple(join.name for join in self.joins if join.window is None)

    @property
    def qualifier(self) -> str:
        """What stands in front of a column of the stream."""
        return self.stream_alias or self.stream.rpartition(".")[2]


@dataclass(frozen=True)
class Star(_Placed):
    """All columns of what is read, or of the one part of it that is called so."""

    qualifier: str | None = None


@dataclass(frozen=True)
class RowSelect(_Placed):
    """One SELECT of rows, without a window: from a stream and the tables joined to it."""

    items: tuple[SelectItem | Star, ...]
    stream: str
    stream_alias: str | None
    where: Expr | None = None
    joins: tuple[JoinClause, ...] = ()
    stream_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def stream_places(self) -> tuple[tuple[str, Place | None], ...]:
        """What it has rows of: one stream."""
        return ((self.stream, self.stream_place),)

    @property
    def streams(self) -> tuple[str, ...]:
        """Its name."""
        return (self.stream,)

    @property
    def tables(self) -> tuple[str, ...]:
        """What is joined to it."""
        return tuple(join.name for join in self.joins)

    @property
    def qualifier(self) -> str:
        """What stands in front of a column of the stream."""
        return self.stream_alias or self.stream.rpartition(".")[2]


@dataclass(frozen=True)
class CreateStream(_Whole):
    """A stream; without `order_by` its rows carry no time of their own."""

    name: str
    columns: tuple[ColumnDef, ...]
    order_by: str | None
    source: str
    options: Options = ()
    or_replace: bool = False
    source_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)
    options_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class CreateDerivedStream(_Whole):
    """A stream made of others: of their rows those that are selected, with other columns.

    `others` are the members of a union after the first.
    """

    name: str
    select: RowSelect
    or_replace: bool = False
    others: tuple[RowSelect, ...] = ()

    @property
    def members(self) -> tuple[RowSelect, ...]:
        return (self.select, *self.others)


@dataclass(frozen=True)
class CreateAnswerStream(_Whole):
    """A stream of the answers to a query over windows; its columns follow from the query, and are
    None until they have been worked out."""

    name: str
    select: Select
    columns: tuple[ColumnDef, ...] | None = None
    or_replace: bool = False

    @property
    def members(self) -> tuple[Select, ...]:
        """What it reads rows by, as those of a derived stream."""
        return (self.select,)


@dataclass(frozen=True)
class CreateTable(_Whole):
    """A relation without time, to be joined to streams."""

    name: str
    columns: tuple[ColumnDef, ...]
    source: str
    options: Options = ()
    or_replace: bool = False
    source_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)
    options_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class CreateSink(_Whole):
    name: str
    address: str
    options: Options = ()
    or_replace: bool = False
    address_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class CreateAggregate(_Whole):
    """An aggregate written in Python; `text` is that of the file, None until it is read."""

    name: str
    source: str
    text: str | None = None
    or_replace: bool = False
    source_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)


@hash_once
@dataclass(frozen=True)
class CreateQuery(_Whole):
    """A standing query; without `into` its answers wait to be asked for."""

    name: str
    into: str | None
    select: Select
    options: Options = ()
    or_replace: bool = False
    into_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class AlterQuery(_Whole):
    """Another SELECT for a standing query; without `into` its answers go where they went."""

    name: str
    into: str | None
    select: Select
    into_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class PauseQuery(_Whole):
    """The query stands, but windows that close meanwhile are skipped."""

    name: str


@dataclass(frozen=True)
class ResumeQuery(_Whole):
    name: str


@dataclass(frozen=True)
class AdvanceStream(_Whole):
    """The word of an operator: no row of the stream to come is older."""

    name: str
    until_us: int
    until_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Drop(_Whole):
    """`kind` is STREAM, TABLE, SINK, AGGREGATE or QUERY."""

    kind: str
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class Show(_Whole):
    """`kind` is STREAMS, TABLES, SINKS, AGGREGATES, QUERIES, WEAVES, SCHEDULE or SETTINGS."""

    kind: str


@dataclass(frozen=True)
class Describe(_Whole):
    name: str


@dataclass(frozen=True)
class Set(_Whole):
    """A setting and its new value, still as text."""

    name: str
    value: str


@dataclass(frozen=True)
class Explain(_Whole):
    """`mode` is AST, PLAN, SHARED or SPARK; the target a SELECT, a query, or None for all."""

    mode: str
    target: Select | str | None


@dataclass(frozen=True)
class RunSelect(_Whole):
    """A SELECT outside CREATE QUERY: a question asked once."""

    select: Select
    options: Options = ()
    options_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)


StreamDefinition: TypeAlias = CreateStream | CreateDerivedStream | CreateAnswerStream
Definition: TypeAlias = StreamDefinition | CreateTable | CreateSink | CreateAggregate | CreateQuery
Change: TypeAlias = Definition | AlterQuery | PauseQuery | ResumeQuery | AdvanceStream | Drop | Set
Statement: TypeAlias = Change | Show | Describe | Explain | RunSelect
