"""Definitions: the stream, table or sink that each declares with its options, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tidemill.catalog.addresses import SINKS, SOURCES, TABLES, Address, parse_address
from tidemill.catalog.aggregates import code_of
from tidemill.durations import parse_duration
from tidemill.errors import Place, TidemillError, listing, refuse, suggest
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
    Options,
    RunSelect,
)
from tidemill.types import TIMESTAMP

ARRIVAL_COLUMN = "current_time"
UPDATE_US = 1_000_000
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


def is_stamped(statement: CreateStream) -> bool:
    """True if rows get the time of their arrival, in a column or, of a latent stream, in none."""
    return statement.order_by is None or Name(statement.order_by) == ARRIVAL_COLUMN


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


@dataclass(frozen=True)
class StreamOptions:
    """The lateness of rows, by how much more they may correct what has closed, and how far ahead of
    the clock they may be; the skew by which a silent stream's time goes on, declared or estimated,
    and whether its times follow the clock; the time between two updates for soft queries, and the
    stream's share of the time that is spent on them.
    """

    lateness_us: int = 0
    correct_us: int = 0
    ahead_us: int | None = None
    skew_us: int | None = None
    estimates_skew: bool = False
    follows_clock: bool = False
    update_us: int = UPDATE_US
    weight: int = 1


def stream_options(statement: CreateStream) -> StreamOptions:
    place = statement.options_place
    values = _texts(statement.options, "stream", _STREAM_OPTIONS, place)
    options = StreamOptions()
    if is_stamped(statement):
        _refuse_of_stamps(statement, values, place)
    if "lateness" in values:
        options = replace(options, lateness_us=_no_less("lateness", values["lateness"], place))
    if "correct" in values:
        options = replace(options, correct_us=_no_less("correct", values["correct"], place))
    if "ahead" in values:
        options = replace(options, ahead_us=_no_less("ahead", values["ahead"], place))
    if "skew" in values:
        options = _with_skew(options, values, place)
    if "clock" in values:
        options = replace(options, follows_clock=_follows_clock(values["clock"], place))
    if "update" in values:
        options = replace(options, update_us=_update(values["update"], place))
    if "weight" in values:
        options = replace(options, weight=_whole_number("weight", values["weight"], 1, place))
    return options


def _refuse_of_stamps(
    statement: CreateStream, values: Mapping[str, str], place: Place | None
) -> None:
    """Rows that are stamped on arrival have the clock's time, whatever else is said.

    Homes have streams ordered by the stamp that say a lateness, by which windows wait.
    """
    never = {"ahead": "ahead", "correct": "late"}
    for name, what in (never if statement.order_by else never | {"lateness": "late"}).items():
        if name in values:
            refuse(
                "E_OPTION",
                f"rows that are stamped on arrival are never {what}",
                hint=f"leave {name} out, or ORDER BY a TIMESTAMP column of the rows",
                place=place,
            )
    for name in ("skew", "clock"):
        if name in values:
            refuse(
                "E_OPTION",
                f"rows that are stamped on arrival have no {name}: the clock is their time",
                hint=f"leave {name} out; while no rows come, such a stream goes on with the clock",
                place=place,
            )


def _with_skew(
    options: StreamOptions, values: Mapping[str, str], place: Place | None
) -> StreamOptions:
    text = values["skew"]
    if text.strip().lower() != AUTO:
        return replace(options, skew_us=_no_less("skew", text, place))
    if "clock" in values:
        refuse(
            "E_OPTION",
            "skew = 'auto' is measured between arrivals, and clock = 'wall' goes by the clock",
            hint="say how far times may lie behind the clock, as in skew = '3 seconds'",
            place=place,
        )
    return replace(options, estimates_skew=True)


def _follows_clock(text: str, place: Place | None) -> bool:
    if text.lower() not in CLOCKS:
        refuse(
            "E_OPTION",
            f"no clock '{text}'",
            detail=listing("clocks", CLOCKS),
            hint=suggest(text, CLOCKS),
            place=place,
        )
    return True


def priority_of(query: CreateQuery) -> int:
    """Among soft queries that are equally late, one of higher priority goes first."""
    values = _texts(query.options, "query", _QUERY_OPTIONS, query.place)
    if "priority" not in values:
        return 0
    if not query.select.is_soft:
        refuse(
            "E_OPTION",
            f"query {query.name} has no soft period, so it has no priority",
            hint="priorities are for soft periods: [RANGE r SLIDE UP TO s]",
            place=query.place,
        )
    return _whole_number("priority", values["priority"], None, query.place)


def priority_of_select(run: RunSelect) -> int:
    """A SELECT by itself waits with the soft queries, whatever its window."""
    place = run.options_place
    values = _texts(run.options, "SELECT", _QUERY_OPTIONS, place)
    return _whole_number("priority", values.get("priority", "0"), None, place)


_STREAM_OPTIONS = ("lateness", "correct", "ahead", "skew", "clock", "update", "weight")
_QUERY_OPTIONS = ("priority",)
AUTO, CLOCKS = "auto", ("wall",)


def _texts(
    options: Options, kind: str, names: Iterable[str], place: Place | None
) -> dict[str, str]:
    for key, _ in options:
        if key.lower() not in names:
            refuse(
                "E_OPTION",
                f"{kind} option '{key}' is not known",
                detail=listing("options", names),
                hint=suggest(key, names),
                place=place,
            )
    return {key.lower(): value for key, value in options}


def _no_less(name: str, value: str, place: Place | None) -> int:
    """A duration that may be nothing."""
    span_us = 0 if value.strip() == "0" else _duration(value, place)
    if span_us < 0:
        refuse("E_DURATION", f"{name} cannot be negative", place=place)
    return span_us


def _update(value: str, place: Place | None) -> int:
    update_us = _duration(value, place)
    if update_us <= 0:
        refuse("E_DURATION", "the time between updates must be more than zero", place=place)
    return update_us


def _duration(value: str, place: Place | None) -> int:
    try:
        return parse_duration(value)
    except TidemillError as error:
        raise TidemillError(replace(error.problem, place=place)) from None


def _whole_number(name: str, value: str, least: int | None, place: Place | None) -> int:
    try:
        number = int(value)
    except ValueError:
        number = None
    if number is None or (least is not None and number < least):
        bound = "" if least is None else f" from {least}"
        refuse("E_OPTION", f"the {name} is a whole number{bound}, not '{value}'", place=place)
    return number


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
