"""Names of streams, tables, sinks, queries and columns, which are equal whatever their case."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


class Name(str):
    """A name in lower case, so that plain equality, hashing and sorting are those of names.

    Keys of dictionaries, of the tick log and of folders are names. `written` is the spelling of
    whoever gave the name, for people to read.

    >>> Name("Packets") == Name("PACKETS"), f"{Name('Packets')} was {Name('Packets').written}"
    (True, 'packets was Packets')
    """

    written: str

    def __new__(cls, text: str) -> Name:
        if isinstance(text, Name):
            return text
        name = super().__new__(cls, text.lower())
        name.written = text
        return name


def by_name(items: Iterable[N]) -> dict[Name, N]:
    """Things that have names, to be found by these."""
    return {Name(item.name): item for item in items}
