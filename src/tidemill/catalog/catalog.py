"""The catalog as a frozen value: applying a statement gives a new one or refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tidemill.catalog.streams import Sink, Stream, sink_of, stream_of
from tidemill.errors import Place, listing, refuse, suggest
from tidemill.language import render
from tidemill.language.statements import CreateQuery, CreateSink, CreateStream, Drop, Set
from tidemill.settings import Settings

Definition = CreateStream | CreateSink | CreateQuery
KINDS: dict[type, str] = {CreateStream: "stream", CreateSink: "sink", CreateQuery: "query"}


@dataclass(frozen=True)
class Catalog:
    """Names resolve case-insensitively; each kind has its own names."""

    definitions: Mapping[tuple[str, str], Definition] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)

    def apply(self, statement: Definition | Drop | Set) -> Catalog:
        """Nothing happens for an identical `CREATE`; a different one is refused."""
        if isinstance(statement, Set):
            settings = self.settings.with_value(statement.name, statement.value)
            return replace(self, settings=settings)
        if isinstance(statement, Drop):
            return self._drop(statement)
        return self._create(statement)

    def stream(self, name: str, place: Place | None = None) -> Stream:
        statement = self._find("stream", name, place)
        assert isinstance(statement, CreateStream)
        return stream_of(statement)

    def sink(self, name: str, place: Place | None = None) -> Sink:
        statement = self._find("sink", name, place)
        assert isinstance(statement, CreateSink)
        return sink_of(statement)

    def query(self, name: str, place: Place | None = None) -> CreateQuery:
        statement = self._find("query", name, place)
        assert isinstance(statement, CreateQuery)
        return statement

    def of_kind(self, kind: str) -> tuple[Definition, ...]:
        return tuple(value for (k, _), value in self.definitions.items() if k == kind)

    def queries(self) -> tuple[CreateQuery, ...]:
        return tuple(q for q in self.of_kind("query") if isinstance(q, CreateQuery))

    def _create(self, statement: Definition) -> Catalog:
        kind = KINDS[type(statement)]
        key = (kind, statement.name.lower())
        standing = self.definitions.get(key)
        if standing is not None and not statement.or_replace:
            if render(standing) != render(replace(statement, or_replace=False)):
                _refuse_difference(kind, standing, statement)
            return self
        _check(statement)
        if isinstance(statement, CreateStream) and isinstance(standing, CreateStream):
            self._check_replacement(standing, statement)
        stored = replace(statement, or_replace=False)
        return replace(self, definitions={**self.definitions, key: stored})

    def _check_replacement(self, standing: CreateStream, wanted: CreateStream) -> None:
        """State was made from the old columns: while queries stand, they may only be added to."""
        users = self._users("stream", standing.name)
        gone = [c.name for c in standing.columns if c not in wanted.columns]
        if users and (gone or standing.order_by != wanted.order_by):
            refuse(
                "E_IN_USE",
                f"stream {standing.name} cannot lose or change columns while queries read it",
                detail=f"{listing('columns', gone)}\n{listing('queries', users)}",
                hint="drop the queries first, or keep the columns and add others",
                place=wanted.place,
            )

    def _drop(self, statement: Drop) -> Catalog:
        kind = statement.kind.lower()
        if statement.if_exists and (kind, statement.name.lower()) not in self.definitions:
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
        key = (kind, statement.name.lower())
        left = {k: v for k, v in self.definitions.items() if k != key}
        return replace(self, definitions=left)

    def _users(self, kind: str, name: str) -> list[str]:
        def uses(query: CreateQuery) -> bool:
            used = {"stream": query.select.stream, "sink": query.into or ""}.get(kind, "")
            return used.lower() == name.lower()

        return [query.name for query in self.queries() if uses(query)]

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


def _check(statement: Definition) -> None:
    _check_name(KINDS[type(statement)], statement)
    if isinstance(statement, CreateStream):
        stream_of(statement)
    elif isinstance(statement, CreateSink):
        sink_of(statement)
    elif statement.options:
        refuse(
            "E_OPTION",
            f"query option '{statement.options[0][0]}' is not known",
            place=statement.place,
        )


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


def _refuse_difference(kind: str, standing: Definition, wanted: Definition) -> None:
    was, now = render(standing).splitlines(), render(wanted).splitlines()
    gone = [f"- {line}" for line in was if line not in now]
    new = [f"+ {line}" for line in now if line not in was]
    refuse(
        "E_EXISTS",
        f"{kind} {standing.name} exists and differs",
        detail="\n".join(gone + new),
        hint=f"CREATE OR REPLACE {kind.upper()} changes it; DROP {kind.upper()} removes it",
        place=wanted.place,
    )
