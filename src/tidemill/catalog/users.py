"""Users of a definition: the streams and the standing queries that need it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tidemill.catalog.aggregates import calls
from tidemill.errors import listing
from tidemill.language.names import Name
from tidemill.language.statements import (
    CreateAnswerStream,
    CreateDerivedStream,
    CreateQuery,
    Definition,
    RowSelect,
    Select,
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


def users_of(
    key: DefinitionKey,
    streams: Iterable[CreateDerivedStream | CreateAnswerStream],
    queries: Iterable[CreateQuery],
    reads: Callable[[Select | RowSelect], Iterable[DefinitionKey]],
) -> Users:
    """Those that need a definition, also by way of the streams that they read.

    `reads` are the keys of all that is read.
    """
    kind, name = key

    def needs(select: Select | RowSelect) -> bool:
        return calls(select, name) if kind == "aggregate" else key in reads(select)

    return Users(
        tuple(stream.name for stream in streams if any(map(needs, stream.members))),
        tuple(query.name for query in queries if needs(query.select) or _sends(query, key)),
    )


def _sends(query: CreateQuery, key: DefinitionKey) -> bool:
    return query.into is not None and key == ("sink", Name(query.into))
