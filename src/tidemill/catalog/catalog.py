"""The catalog as a frozen value: applying a statement gives a new one or refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

from tidemill.catalog.aggregates import Code, code_of
from tidemill.catalog.definitions import (
    KINDS,
    Sink,
    Stream,
    Table,
    check_definition,
    sink_of,
    stream_of,
    table_of,
)
from tidemill.catalog.differences import check_advance, check_replacement, refuse_difference
from tidemill.catalog.handed import answer_stream, answering_query, side_stream
from tidemill.catalog.users import DefinitionKey, Definitions, Users, users_of
from tidemill.errors import Place, listing, refuse, suggest
from tidemill.language import render
from tidemill.language.names import SIDES, Name, set_aside_by, side_of
from tidemill.language.statements import (
    AdvanceStream,
    AlterQuery,
    Change,
    CreateAggregate,
    CreateAnswerStream,
    CreateDerivedStream,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Definition,
    Drop,
    PauseQuery,
    ResumeQuery,
    RowSelect,
    Select,
    Set,
    StreamDefinition,
)
from tidemill.settings import Settings

D = TypeVar("D", bound=Definition)
R = TypeVar("R")

# FROM and JOIN name either, so no stream may be called like a table.
_RELATIONS = {"stream": "table", "table": "stream"}


@dataclass(frozen=True)
class Catalog:
    """Names resolve case-insensitively; streams and tables share theirs, sinks, aggregates
    and queries have their own."""

    definitions: Definitions = field(default_factory=lambda: {kind: {} for kind in KINDS.values()})
    settings: Settings = field(default_factory=Settings)
    paused: frozenset[Name] = frozenset()  # queries
    # Queries that the engine has stopped, and why.
    stopped: Mapping[Name, str] = field(default_factory=dict)
    # Of streams, the times that operators have promised: nothing older will come.
    advances: Mapping[Name, int] = field(default_factory=dict)

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
                self.query(statement.name, statement.place)
                return replace(self, paused=self.paused | {Name(statement.name)})
            case ResumeQuery():
                self.query(statement.name, statement.place)
                paused = self.paused - {Name(statement.name)}
                return replace(self, paused=paused, stopped=self._stopped_without(statement.name))
            case AdvanceStream():
                return self._advance(statement)
            case _:
                return self._create(statement)

    def stream(self, name: str, place: Place | None = None) -> Stream:
        """A stream that has rows of its own, and not those of another one."""
        if (aside := side_of(name)) is not None:
            return self._side(name, *aside, place)
        statement = self.stream_definition(name, place)
        if isinstance(statement, CreateAnswerStream):
            level = max(level for name in statement.select.streams for level in self._levels(name))
            return self._resolve(statement, partial(answer_stream, level=level))
        assert isinstance(statement, CreateStream)
        return self._resolve(statement, stream_of)

    def stream_definition(self, name: str, place: Place | None = None) -> StreamDefinition:
        self._refuse_table(name, place)
        statement = self._find("stream", name, place)
        assert isinstance(statement, StreamDefinition)
        return statement

    def derived_stream(self, name: str, place: Place | None = None) -> CreateDerivedStream | None:
        """The statement of a stream that is made of another one; None if it has its own rows."""
        if side_of(name) is not None:
            return None
        statement = self.stream_definition(name, place)
        return statement if isinstance(statement, CreateDerivedStream) else None

    def derived_streams(self) -> tuple[CreateDerivedStream | CreateAnswerStream, ...]:
        """Those that read streams."""
        return tuple(
            stream
            for stream in self.of_kind("stream")
            if isinstance(stream, CreateDerivedStream | CreateAnswerStream)
        )

    def sources_of(self, name: str) -> tuple[str, ...]:
        """The streams whose own rows a stream has."""
        statement = self.derived_stream(name)
        if statement is None:
            return (name,)
        below = (self.sources_of(select.stream) for select in statement.members)
        return tuple(dict.fromkeys(source for sources in below for source in sources))

    def level(self, name: str) -> int:
        """How many streams deep the rows of a stream come from the ticks of others."""
        return self.stream(name).level

    def _levels(self, name: str) -> Iterator[int]:
        return map(self.level, self.sources_of(name))

    def read_by(self, *selects: Select | RowSelect) -> tuple[Definition | None, ...]:
        """The definitions of all streams and tables that are read."""
        keys = dict.fromkeys(key for select in selects for key in self._reads(select))
        return tuple(self.definition(kind, name) for kind, name in keys)

    def _declared_below(self, stream: CreateDerivedStream | CreateAnswerStream) -> list[str]:
        """The streams with a source of their own that everything it reads comes from."""
        return [d.name for d in self.read_by(*stream.members) if isinstance(d, CreateStream)]

    def _reads(self, select: Select | RowSelect) -> Iterator[DefinitionKey]:
        """Streams and tables by kind and name, with those that the streams are made of.

        What reads something that a stream has set aside reads that stream.
        """
        names = [set_aside_by(stream) or Name(stream) for stream in select.streams]
        yield from (("stream", name) for name in names)
        yield from (("table", Name(table)) for table in select.tables)
        for name in names:
            below = self.definition("stream", name)
            if isinstance(below, CreateDerivedStream | CreateAnswerStream):
                for member in below.members:
                    yield from self._reads(member)

    def table(self, name: str, place: Place | None = None) -> Table:
        self._refuse_stream(name, place)
        statement = self._find("table", name, place)
        assert isinstance(statement, CreateTable)
        return self._resolve(statement, table_of)

    def sink(self, name: str, place: Place | None = None) -> Sink:
        statement = self._find("sink", name, place)
        assert isinstance(statement, CreateSink)
        return self._resolve(statement, sink_of)

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

    def definition(self, kind: str, name: str) -> Definition | None:
        return self.definitions.get(kind, {}).get(Name(name))

    def users(self, kind: str, name: str) -> Users:
        """The streams and queries that need a definition; nothing needs a query."""
        if kind == "query":
            return Users()
        return users_of((kind, Name(name)), self.derived_streams(), self.queries(), self._reads)

    def all_definitions(self) -> Iterator[tuple[str, Name, Definition]]:
        """Each with its kind and name."""
        for kind, named in self.definitions.items():
            yield from ((kind, name, definition) for name, definition in named.items())

    def is_paused(self, query: str) -> bool:
        return Name(query) in self.paused

    def is_stopped(self, query: str) -> bool:
        return Name(query) in self.stopped

    def of_kind(self, kind: str) -> tuple[Definition, ...]:
        return tuple(self.definitions[kind].values())

    def queries(self) -> tuple[CreateQuery, ...]:
        return tuple(q for q in self.of_kind("query") if isinstance(q, CreateQuery))

    @cached_property
    def answered(self) -> tuple[CreateAnswerStream, ...]:
        """The streams of answers that somebody reads."""
        keys = {key for query in self._running() for key in self._reads(query.select)}
        return tuple(
            stream
            for stream in self.derived_streams()
            if isinstance(stream, CreateAnswerStream) and _key(stream) in keys
        )

    def every_query(self) -> tuple[CreateQuery, ...]:
        """With those behind streams of answers."""
        return (*map(answering_query, self.answered), *self.queries())

    def standing(self) -> tuple[CreateQuery, ...]:
        """All of them that have not been stopped."""
        return (*map(answering_query, self.answered), *self._running())

    def _running(self) -> tuple[CreateQuery, ...]:
        return tuple(query for query in self.queries() if not self.is_stopped(query.name))

    def stopping(self, reasons: Mapping[str, str]) -> Catalog:
        """With these queries stopped until they are resumed or defined anew; in place of one
        behind a stream of answers, those that read it."""
        readers = {
            query.name: self.users("stream", stream.name).queries
            for stream in self.derived_streams()
            if isinstance(stream, CreateAnswerStream)
            for query in (answering_query(stream),)
        }
        stopped = {
            Name(name): reason
            for query, reason in reasons.items()
            for name in readers.get(query, (query,))
        }
        return replace(self, stopped={**self.stopped, **stopped})

    def _resolve(self, statement: D, resolve: Callable[[D], R]) -> R:
        """The value that a definition declares, worked out once for each catalog."""
        key = _key(statement)
        if key not in self._resolved:
            self._resolved[key] = resolve(statement)
        resolved: R = self._resolved[key]
        return resolved

    @cached_property
    def _resolved(self) -> dict[DefinitionKey, Any]:
        return {}

    def _stopped_without(self, query: str) -> dict[Name, str]:
        """The queries that are stopped, but for this one."""
        return {name: why for name, why in self.stopped.items() if name != Name(query)}

    def _create(self, statement: Definition) -> Catalog:
        kind = KINDS[type(statement)]
        standing = self.definition(kind, statement.name)
        if standing is not None and not statement.or_replace:
            if render(standing) != render(replace(statement, or_replace=False)):
                refuse_difference(kind, standing, statement)
            return self
        check_definition(statement)
        if isinstance(statement, CreateDerivedStream | CreateAnswerStream):
            self.check_inputs(statement)
        self._check_free(kind, statement)
        if standing is not None:
            self._check_replacement(kind, standing, statement)
        definitions = self._with(replace(statement, or_replace=False))
        stopped = self._stopped_without(statement.name) if kind == "query" else self.stopped
        return replace(self, definitions=definitions, stopped=stopped)

    def _with(self, definition: Definition) -> Definitions:
        kind, name = _key(definition)
        return {**self.definitions, kind: {**self.definitions[kind], name: definition}}

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
        stopped = self._stopped_without(standing.name)
        return replace(self, definitions=self._with(altered), stopped=stopped)

    def _advance(self, statement: AdvanceStream) -> Catalog:
        """Only a stream that has rows of its own can be promised anything of."""
        standing = self.stream_definition(statement.name, statement.place)
        if not isinstance(standing, CreateStream):
            sources = self._declared_below(standing)
            refuse(
                "E_ADVANCE",
                f"stream {standing.name} has its rows, and its time, from others",
                detail=listing("sources", sources),
                hint=f"ADVANCE STREAM {sources[0]} TO TIMESTAMP …",
                place=statement.place,
            )
        name = Name(standing.name)
        if name in self.advances:
            check_advance(statement, self.advances[name])
        return replace(self, advances={**self.advances, name: statement.until_us})

    def check_inputs(self, stream: CreateDerivedStream | CreateAnswerStream) -> None:
        """What a stream reads is there, and is not the stream itself."""
        for select in stream.members:
            self._check_input(stream, select)

    def _check_input(
        self, stream: CreateDerivedStream | CreateAnswerStream, select: RowSelect | Select
    ) -> None:
        for name, place in select.stream_places:
            if Name(name) == Name(stream.name):
                refuse(
                    "E_RELATION",
                    f"stream {stream.name} cannot read itself",
                    hint="give the new stream another name",
                    place=place,
                )
            if self.derived_stream(name, place) is None:
                self.stream(name, place)
        for join in select.joins:
            if join.window is None:
                self.table(join.name, join.place)

    def _check_free(self, kind: str, statement: Definition) -> None:
        other, is_new = _RELATIONS.get(kind, ""), self.definition(kind, statement.name) is None
        if kind == "aggregate" and is_new and (users := self.users(kind, statement.name)):
            refuse(
                "E_IN_USE",
                f"{users.kinds} call a function {statement.name} already",
                detail=users.names,
                hint="give the aggregate another name",
                place=statement.place,
            )
        if self.definition(other, statement.name) is not None:
            refuse(
                "E_EXISTS",
                f"a {other} is called {statement.name} already",
                hint="streams and tables share their names, since FROM and JOIN name both",
                place=statement.place,
            )

    def _check_replacement(self, kind: str, standing: Definition, statement: Definition) -> None:
        if users := self.users(kind, standing.name):
            soft = [name for name in users.queries if self.query(name).select.is_soft]
            check_replacement(kind, standing, statement, users, soft)

    def _drop(self, statement: Drop) -> Catalog:
        kind = statement.kind.lower()
        name = Name(statement.name)
        if statement.if_exists and name not in self.definitions[kind]:
            return self
        self._find(kind, statement.name, statement.place)
        users = self.users(kind, statement.name)
        if users:
            refuse(
                "E_IN_USE",
                f"{kind} {statement.name} is used by {users.kinds}",
                detail=users.names,
                hint="drop those first",
                place=statement.place,
            )
        remaining = {key: d for key, d in self.definitions[kind].items() if key != name}
        definitions = {**self.definitions, kind: remaining}
        paused = self.paused - {name} if kind == "query" else self.paused
        stopped = self._stopped_without(statement.name) if kind == "query" else self.stopped
        advances = self.advances
        if kind == "stream":
            advances = {stream: us for stream, us in advances.items() if stream != name}
        return replace(
            self, definitions=definitions, paused=paused, stopped=stopped, advances=advances
        )

    def _refuse_table(self, name: str, place: Place | None) -> None:
        if self.definition("table", name) is not None:
            refuse(
                "E_NOT_A_STREAM",
                f"{name} is a table, and FROM begins with a stream",
                detail=listing("streams", (d.name for d in self.of_kind("stream"))),
                hint=f"join it to one: FROM stream JOIN {name} ON …",
                place=place,
            )

    def _refuse_stream(self, name: str, place: Place | None) -> None:
        if self.definition("stream", name) is not None:
            refuse(
                "E_WINDOW",
                f"{name} is a stream, and has no window here",
                detail=listing("tables", (d.name for d in self.of_kind("table"))),
                hint=f"JOIN {name} [RANGE r]: streams are joined over windows, tables as they are",
                place=place,
            )

    def _side(self, name: str, base: Name, side: str, place: Place | None) -> Stream:
        """What a stream has set aside."""
        statement = self.stream_definition(base.written, place)
        if not isinstance(statement, CreateStream):
            sources = self._declared_below(statement)
            refuse(
                "E_UNKNOWN_STREAM",
                f"no stream '{name}': {statement.name} is made of other streams, which set aside "
                "what is late or malformed",
                detail=listing("its sources", sources),
                hint=f"read {sources[0]}.{side}",
                place=place,
            )
        key = ("stream", Name(name))
        if key not in self._resolved:
            self._resolved[key] = side_stream(self.stream(statement.name), side, place)
        stream: Stream = self._resolved[key]
        return stream

    def _find(self, kind: str, name: str, place: Place | None) -> Definition:
        definition = self.definition(kind, name)
        if definition is None:
            names = [other.name for other in self.of_kind(kind)]
            base = name.rpartition(".")[0]
            if kind == "stream" and isinstance(self.definition(kind, base), CreateStream):
                names = [f"{base}.{side}" for side in SIDES]
            plural = "queries" if kind == "query" else f"{kind}s"
            refuse(
                f"E_UNKNOWN_{kind.upper()}",
                f"no {kind} '{name}'",
                detail=listing(plural, names),
                hint=self._behind(kind, name)
                or suggest(name, names)
                or f"declare it with CREATE {kind.upper()}",
                place=place,
            )
        return definition

    def _behind(self, kind: str, name: str) -> str:
        """The hint for a stream of answers that is taken for a query; empty for everything else."""
        is_answers = isinstance(self.definition("stream", name), CreateAnswerStream)
        if kind != "query" or not is_answers:
            return ""
        return f"{name} is a stream of answers; it is worked out while queries read it"


def _key(definition: Definition) -> DefinitionKey:
    return KINDS[type(definition)], Name(definition.name)
