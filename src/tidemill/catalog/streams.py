"""Streams and sinks as they are declared, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tidemill.catalog.addresses import SINKS, SOURCES, Address, parse_address
from tidemill.catalog.names import Name, by_name
from tidemill.catalog.options import UPDATE_US, stream_options
from tidemill.errors import listing, refuse, suggest
from tidemill.language.statements import ColumnDef, CreateSink, CreateStream
from tidemill.types import TIMESTAMP

ARRIVAL_COLUMN = "current_time"


@dataclass(frozen=True)
class Stream:
    """A stream as the rest of the engine sees it."""

    name: str
    columns: tuple[ColumnDef, ...]
    time_column: str
    stamped_on_arrival: bool
    source: Address
    lateness_us: int
    update_us: int = UPDATE_US
    weight: int = 1

    @cached_property
    def key(self) -> Name:
        """The name, to find the stream's state and its queries by."""
        return Name(self.name)

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
    if statement.order_by is None:
        refuse(
            "E_NOT_BUILT",
            f"stream {statement.name} has no ORDER BY: streams without time are not built yet",
            hint=f"add ORDER BY and a TIMESTAMP column, or ORDER BY {ARRIVAL_COLUMN}",
            place=statement.place,
        )
    column = _time_column(statement, statement.order_by)
    return Stream(
        name=statement.name,
        columns=statement.columns,
        time_column=column.name,
        stamped_on_arrival=Name(column.name) == ARRIVAL_COLUMN,
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


def _time_column(statement: CreateStream, order_by: str) -> ColumnDef:
    columns = by_name(statement.columns)
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
    return column
