"""Definitions: the stream, table or sink that each declares with its options, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tidemill.catalog.addresses import SINKS, SOURCES, TABLES, Address, parse_address
from tidemill.catalog.aggregates import code_of
from tidemill.catalog.options import UPDATE_US, is_stamped, priority_of, stream_options
from tidemill.errors import listing, refuse, suggest
from tidemill.language.names import ANSWERS_FOR, SIDES, Name, by_name, side_of
from tidemill.language.statements import (
    ColumnDef,
    CreateAggregate,
    CreateAnswerStream,
    CreateDerivedStream,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Definition,
)
from tidemill.types import TIMESTAMP

KINDS: dict[type, str] = {
    CreateStream: "stream",
    CreateDerivedStream: "stream",
    CreateAnswerStream: "stream",
    CreateTable: "table",
    CreateSink: "sink",
    CreateAggregate: "aggregate",
    CreateQuery: "query",
}


@dataclass(frozen=True)
class Stream:
    """A stream as the rest of the engine sees it; one without a time column is latent."""

    name: str
    columns: tuple[ColumnDef, ...]
    time_column: str
    stamped_on_arrival: bool
    source: Address
    lateness_us: int
    update_us: int = UPDATE_US
    weight: int = 1
    ahead_us: int | None = None  # rows further beyond the clock are malformed
    correct_us: int = 0  # rows late by no more than that count all the same
    # What may be promised of rows to come while there are none.
    skew_us: int | None = None
    estimates_skew: bool = False
    follows_clock: bool = False
    level: int = 0  # how many streams deep its rows come from the ticks of others
    origin: str = ""  # of such rows, in words

    @cached_property
    def key(self) -> Name:
        """The name, to find the stream's state and its queries by."""
        return Name(self.name)

    def final_us(self, watermark_us: int) -> int:
        """Windows that end by then have been answered for good: no row to come corrects them."""
        return watermark_us - self.correct_us

    @property
    def is_latent(self) -> bool:
        """True if rows carry no time: they are stamped on arrival, and the stamp is no column."""
        return not self.time_column

    @property
    def format(self) -> str:
        """The format of the files that hold its rows as they are; empty for other sources."""
        return SOURCES[self.source.scheme].format

    @property
    def stored_columns(self) -> tuple[ColumnDef, ...]:
        """The columns that come from the source; an arrival stamp does not."""
        if not self.stamped_on_arrival:
            return self.columns
        return tuple(column for column in self.columns if column.name != self.time_column)


@dataclass(frozen=True)
class Sink:
    name: str
    address: Address
    options: tuple[tuple[str, str], ...] = ()


def stream_of(statement: CreateStream) -> Stream:
    """The stream a `CREATE STREAM` declares, or why it cannot be."""
    check_columns(statement.columns)
    return Stream(
        name=statement.name,
        columns=statement.columns,
        time_column=_time_column(statement),
        stamped_on_arrival=is_stamped(statement),
        source=parse_address(statement.source, SOURCES, statement.source_place),
        **vars(stream_options(statement)),
    )


def sink_of(statement: CreateSink) -> Sink:
    if statement.options:
        refuse("E_OPTION", f"sink option '{statement.options[0][0]}' is not known")
    address = parse_address(statement.address, SINKS, statement.address_place)
    return Sink(statement.name, address, statement.options)


def check_columns(columns: tuple[ColumnDef, ...]) -> None:
    """Refuses names that are given twice or that the engine needs for itself."""
    names: set[Name] = set()
    for column in columns:
        name, place = column.name, column.place
        if Name(name) in names:
            refuse("E_DUPLICATE", f"column '{name}' is declared twice", place=place)
        if name.startswith("_"):
            reason = "begins with '_', which is kept for the engine"
            refuse("E_NAME", f"column '{name}' {reason}", place=place)
        if "`" in name:
            refuse("E_NAME", f"column '{name}' has a backtick in its name", place=place)
        names.add(Name(name))


def _time_column(statement: CreateStream) -> str:
    """The name of the column that rows are ordered by; empty without ORDER BY."""
    if statement.order_by is None:
        return ""
    order_by, columns = statement.order_by, by_name(statement.columns)
    column = columns.get(Name(order_by))
    if column is None:
        refuse(
            "E_UNKNOWN_COLUMN",
            f"no column '{order_by}' in stream {statement.name} to order by",
            detail=listing("columns", (c.name for c in statement.columns)),
            hint=suggest(order_by, columns),
            place=statement.place,
        )
    if column.type != TIMESTAMP:
        refuse(
            "E_TYPE",
            f"stream {statement.name} is ordered by {column.name}, which is {column.type}",
            hint="event time is a TIMESTAMP column",
            place=statement.place,
        )
    return column.name


@dataclass(frozen=True)
class Table:
    """A relation as the rest of the engine sees it; `source.options` are for the reader."""

    name: str
    columns: tuple[ColumnDef, ...]
    source: Address

    @property
    def format(self) -> str:
        """The format of its files."""
        return TABLES[self.source.scheme].format


def table_of(statement: CreateTable) -> Table:
    """The table a `CREATE TABLE` declares, or why it cannot be."""
    check_columns(statement.columns)
    if statement.options:
        refuse(
            "E_OPTION",
            f"table option '{statement.options[0][0]}' is not known",
            hint="options of the reader stand in the address: 'csv:data/whois.csv?header=true'",
            place=statement.options_place,
        )
    source = parse_address(statement.source, TABLES, statement.source_place)
    return Table(statement.name, statement.columns, source)


def check_definition(statement: Definition) -> None:
    """Refuses a definition that could not stand in any catalog."""
    _check_name(KINDS[type(statement)], statement)
    if isinstance(statement, CreateStream):
        stream_of(statement)
    elif isinstance(statement, CreateAnswerStream):
        check_columns(statement.columns or ())
    elif isinstance(statement, CreateTable):
        table_of(statement)
    elif isinstance(statement, CreateSink):
        sink_of(statement)
    elif isinstance(statement, CreateAggregate):
        code_of(statement)
    elif isinstance(statement, CreateQuery):
        priority_of(statement)


def _check_name(kind: str, statement: Definition) -> None:
    """State and answers lie in folders that are called after their stream or query."""
    name = statement.name
    if name.startswith(".") or any(letter in name for letter in "/\\\0") or len(name) > 100:
        refuse(
            "E_NAME",
            f"{kind} '{name}' cannot be the name of a folder",
            hint="at most 100 letters, no slash, and no dot in front",
            place=statement.place,
        )
    if kind in ("stream", "table") and side_of(name) is not None:
        refuse(
            "E_NAME",
            f"{kind} '{name}' would be called like what a stream sets aside",
            hint=f"give it a name that does not end in {' or '.join(f'.{s}' for s in SIDES)}",
            place=statement.place,
        )
    if kind == "query" and name.lower().startswith(ANSWERS_FOR):
        refuse(
            "E_NAME",
            f"query '{name}' would be called like the query behind a stream of answers",
            hint="give it a name that does not begin with 'stream '",
            place=statement.place,
        )
