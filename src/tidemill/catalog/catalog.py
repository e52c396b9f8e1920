"""The catalog as a frozen value: applying a statement gives a new one or refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from tidemill.catalog.aggregates import Code, calls, code_of
from tidemill.catalog.checks import KINDS, check_definition, refuse_difference
from tidemill.catalog.options import stream_options
from tidemill.catalog.streams import Sink, Stream, sink_of, stream_of
from tidemill.catalog.tables import Table, table_of
from tidemill.errors import Place, listing, refuse, suggest
from tidemill.language import render
from tidemill.language.statements import (
    AlterQuery,
    Change,
    CreateAggregate,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Definition,
    Drop,
    PauseQuery,
    ResumeQuery,
    Set,
)
from tidemill.settings import Settings

# FROM and JOIN name either, so no stream may be called like a table.
_RELATIONS = {"stream": "table", "table": "stream"}


@dataclass(frozen=True)
class Catalog:
    """Names resolve case-insensitively; streams and tables share theirs, sinks, aggregates
    and queries have their own."""

    definitions: Mapping[tuple[str, str], Definition] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    paused: frozenset[str] = frozenset()  # lower-case names of queries
    # Queries that the engine has stopped, by lower-case name, and why.
    stopped: Mapping[str, str] = field(default_factory=dict)

    def apply(self, statement: Change) -> Catalog:
        """Nothing happens for an identical `CREATE`; a different one is refused."""
        match statement:
            case Set():
                settings = self.settings.with_value(statement.name, statement.value)
                return replace(self, settings=settings)
            case Drop():
                return self._drop(statement)
            case AlterQuery():
                return self._alter(statement)
            case PauseQuery():
                name = self.query(statement.name, statement.place).name
                return replace(self, paused=self.paused | {name.lower()})
            case ResumeQuery():
                name = self.query(statement.name, statement.place).name
                paused = self.paused - {name.lower()}
                return replace(self, paused=paused, stopped=self._going(name))
            case _:
                return self._create(statement)

    def stream(self, name: str, place: Place | None = None) -> Stream:
        self._refuse_table(name, place)
        statement = self._find("stream", name, place)
        assert isinstance(statement, CreateStream)
        return stream_of(statement)

    def table(self, name: str, place: Place | None = None) -> Table:
        self._refuse_stream(name, place)
        statement = self._find("table", name, place)
        assert isinstance(statement, CreateTable)
        return table_of(statement)

    def sink(self, name: str, place: Place | None = None) -> Sink:
        statement = self._find("sink", name, place)
        assert isinstance(statement, CreateSink)
        return sink_of(statement)

    @cached_property
    def aggregates(self) -> tuple[Code, ...]:
        """Those that users have written."""
        return tuple(
            code_of(a) for a in self.of_kind("aggregate") if isinstance(a, CreateAggregate)
        )

    def query(self, name: str, place: Place | None = None) -> CreateQuery:
        statement = self._find("query", name, place)
        assert isinstance(statement, CreateQuery)
        return statement

    def is_paused(self, query: str) -> bool:
        return query.lower() in self.paused

    def is_stopped(self, query: str) -> bool:
        return query.lower() in self.stopped

    def of_kind(self, kind: str) -> tuple[Definition, ...]:
        return tuple(value for (k, _), value in self.definitions.items() if k == kind)

    def queries(self) -> tuple[CreateQuery, ...]:
        return tuple(q for q in self.of_kind("query") if isinstance(q, CreateQuery))

    def standing(self) -> tuple[CreateQuery, ...]:
        """The queries that have not been stopped."""
        return tuple(q for q in self.queries() if q.name.lower() not in self.stopped)

    def stopping(self, reasons: Mapping[str, str]) -> Catalog:
        """With these queries stopped until they are resumed or defined anew."""
        return replace(self, stopped={**self.stopped, **{n.lower(): r for n, r in reasons.items()}})

    def _going(self, query: str) -> dict[str, str]:
        """Those that are stopped, without this one."""
        return {name: why for name, why in self.stopped.items() if name != query.lower()}

    def _create(self, statement: Definition) -> Catalog:
        kind = KINDS[type(statement)]
        key = (kind, statement.name.lower())
        standing = self.definitions.get(key)
        if standing is not None and not statement.or_replace:
            if render(standing) != render(replace(statement, or_replace=False)):
                refuse_difference(kind, standing, statement)
            return self
        check_definition(statement)
        self._check_free(kind, statement)
        if standing is not None:
            self._check_replacement(kind, standing, statement)
        stored = replace(statement, or_replace=False)
        stopped = self._going(statement.name) if kind == "query" else self.stopped
        return replace(self, definitions={**self.definitions, key: stored}, stopped=stopped)

    def _alter(self, statement: AlterQuery) -> Catalog:
        """The query keeps its name, options, sink unless told, and whether it is paused."""
        standing = self.query(statement.name, statement.place)
        altered = replace(
            standing,
            select=statement.select,
            into=standing.into if statement.into is None else statement.into,
            place=statement.place,
            text_place=statement.text_place,
            into_place=statement.into_place if statement.into is not None else None,
        )
        key = ("query", standing.name.lower())
        definitions = {**self.definitions, key: altered}
        return replace(self, definitions=definitions, stopped=self._going(standing.name))

    def _check_free(self, kind: str, statement: Definition) -> None:
        other, users = _RELATIONS.get(kind, ""), self._users(kind, statement.name)
        if kind == "aggregate" and users and (kind, statement.name.lower()) not in self.definitions:
            refuse(
                "E_IN_USE",
                f"standing queries call a function {statement.name} already",
                detail=listing("queries", users),
                hint="give the aggregate another name",
                place=statement.place,
            )
        if (other, statement.name.lower()) in self.definitions:
            refuse(
                "E_EXISTS",
                f"a {other} is called {statement.name} already",
                hint="streams and tables share their names, since FROM and JOIN name both",
                place=statement.place,
            )

    def _check_replacement(self, kind: str, standing: Definition, wanted: Definition) -> None:
        """State was made from the old definition, and while queries stand it goes on with it."""
        if not (users := self._users(kind, standing.name)):
            return
        is_other = standing != replace(wanted, or_replace=False)
        if isinstance(standing, CreateTable | CreateAggregate) and is_other:
            refuse(
                "E_IN_USE",
                f"{kind} {standing.name} cannot be replaced while queries "
                f"{'join' if kind == 'table' else 'call'} it",
                detail=listing("queries", users),
                hint=f"drop the queries first, or declare another {kind} beside it",
                place=wanted.place,
            )
        if isinstance(standing, CreateStream) and isinstance(wanted, CreateStream):
            _check_columns_stay(standing, wanted, users)
            soft = [name for name in users if self.query(name).select.window.is_soft]
            _check_updates_stay(standing, wanted, soft)

    def _drop(self, statement: Drop) -> Catalog:
        kind = statement.kind.lower()
        key = (kind, statement.name.lower())
        if statement.if_exists and key not in self.definitions:
            return self
        self._find(kind, statement.name, statement.place)
        users = self._users(kind, statement.name)
        if users:
            refuse(
                "E_IN_USE",
                f"{kind} {statement.name} is used by standing queries",
                detail=listing("queries", users),
                hint="drop those first",
                place=statement.place,
            )
        left = {k: v for k, v in self.definitions.items() if k != key}
        paused = self.paused - {statement.name.lower()} if kind == "query" else self.paused
        stopped = self._going(statement.name) if kind == "query" else self.stopped
        return replace(self, definitions=left, paused=paused, stopped=stopped)

    def _users(self, kind: str, name: str) -> list[str]:
        sought = (kind, name.lower())
        if kind == "aggregate":
            return [query.name for query in self.queries() if calls(query.select, sought[1])]
        return [query.name for query in self.queries() if sought in _used_by(query)]

    def _refuse_table(self, name: str, place: Place | None) -> None:
        if ("table", name.lower()) in self.definitions:
            refuse(
                "E_NOT_A_STREAM",
                f"{name} is a table, and only a stream has a window",
                detail=listing("streams", (d.name for d in self.of_kind("stream"))),
                hint=f"join it to a stream: FROM stream [RANGE r SLIDE s] JOIN {name} ON …",
                place=place,
            )

    def _refuse_stream(self, name: str, place: Place | None) -> None:
        if ("stream", name.lower()) in self.definitions:
            refuse(
                "E_NOT_BUILT",
                f"{name} is a stream: a JOIN of two streams is not built yet",
                detail=listing("tables", (d.name for d in self.of_kind("table"))),
                hint="a table can be joined: CREATE TABLE name (…) SOURCE '…'",
                place=place,
            )

    def _find(self, kind: str, name: str, place: Place | None) -> Definition:
        found = self.definitions.get((kind, name.lower()))
        if found is None:
            names = [definition.name for definition in self.of_kind(kind)]
            plural = "queries" if kind == "query" else f"{kind}s"
            refuse(
                f"E_UNKNOWN_{kind.upper()}",
                f"no {kind} '{name}'",
                detail=listing(plural, names),
                hint=suggest(name, names) or f"declare it with CREATE {kind.upper()}",
                place=place,
            )
        return found


def _check_columns_stay(standing: CreateStream, wanted: CreateStream, users: list[str]) -> None:
    """Columns may only be added."""
    gone = [column.name for column in standing.columns if column not in wanted.columns]
    if gone or standing.order_by != wanted.order_by:
        refuse(
            "E_IN_USE",
            f"stream {standing.name} cannot lose or change columns while queries read it",
            detail=f"{listing('columns', gone)}\n{listing('queries', users)}",
            hint="drop the queries first, or keep the columns and add others",
            place=wanted.place,
        )


def _check_updates_stay(standing: CreateStream, wanted: CreateStream, soft: list[str]) -> None:
    """Windows with soft periods end at updates, so slices were cut there."""
    before, after = stream_options(standing).update_us, stream_options(wanted).update_us
    if soft and before != after:
        refuse(
            "E_IN_USE",
            f"the updates of stream {standing.name} cannot change under queries with soft periods",
            detail=listing("queries", soft),
            hint="drop the queries first",
            place=wanted.options_place or wanted.place,
        )


def _used_by(query: CreateQuery) -> set[tuple[str, str]]:
    """The kind and lower-case name of everything the query needs."""
    tables = {("table", join.table.lower()) for join in query.select.joins}
    sinks = {("sink", query.into.lower())} if query.into is not None else set()
    return {("stream", query.select.stream.lower()), *tables, *sinks}
