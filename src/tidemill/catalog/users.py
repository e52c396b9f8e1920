"""Users of a definition: the streams and the standing queries that need it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidemill.catalog.aggregates import calls
from tidemill.errors import listing
from tidemill.language.names import Name
from tidemill.language.statements import (
    CreateDerivedStream,
    CreateQuery,
    Definition,
    Select,
    Selection,
)

# By kind and by name: a statement copies those of its own kind alone.
Definitions = Mapping[str, Mapping[Name, Definition]]
DefinitionKey = tuple[str, Name]  # a kind of definition, and the name of one


@dataclass(frozen=True)
class Users:
    """The names of derived streams and of queries."""

    streams: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.streams or self.queries)

    @property
    def kinds(self) -> str:
        """What they are, in a sentence."""
        words = ["streams"] * bool(self.streams) + ["standing queries"] * bool(self.queries)
        return " and ".join(words)

    @property
    def names(self) -> str:
        """Their names, a line for streams and one for queries."""
        lines = {"streams": self.streams, "queries": self.queries}
        return "\n".join(listing(kind, names) for kind, names in lines.items() if names)


def users_of(key: DefinitionKey, definitions: Definitions) -> Users:
    """Those that need a definition, also by way of the streams that they read."""
    kind, name = key
    if kind == "query":
        return Users()
    streams, queries = _streams(definitions), _queries(definitions)
    if kind == "aggregate":
        return Users(
            tuple(stream.name for stream in streams if calls(stream.selection, name)),
            tuple(query.name for query in queries if calls(query.select, name)),
        )
    return Users(
        tuple(s.name for s in streams if key in needs_of(s.selection, definitions)),
        tuple(
            query.name
            for query in queries
            if key == ("sink", Name(query.into or "")) or key in needs_of(query.select, definitions)
        ),
    )


def needs_of(select: Select | Selection, definitions: Definitions) -> Iterator[DefinitionKey]:
    """The streams and tables that are read, and what those streams are made of."""
    yield "stream", Name(select.stream)
    yield from (("table", Name(join.table)) for join in select.joins)
    below = definitions["stream"].get(Name(select.stream))
    if isinstance(below, CreateDerivedStream):
        yield from needs_of(below.selection, definitions)


def _streams(definitions: Definitions) -> list[CreateDerivedStream]:
    return [s for s in definitions["stream"].values() if isinstance(s, CreateDerivedStream)]


def _queries(definitions: Definitions) -> list[CreateQuery]:
    return [query for query in definitions["query"].values() if isinstance(query, CreateQuery)]
