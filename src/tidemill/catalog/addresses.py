"""The register of sources and sinks, and the addresses that name them.

A connector is one line here and one module in `connect/`: the line says what an address of its
scheme looks like, the module reads or writes. Whoever wants to know what kind of address this
is asks the register.

>>> parse_address("csv:data?header=true", SOURCES)
Address(scheme='csv', path='data', options=(('header', 'true'),))
>>> SOURCES["csv"].format
'csv'
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from tidemill.errors import Place, listing, refuse, suggest

# What follows the colon of an address: a path, another name, or nothing that matters.
PATH, NAME, NOTHING = "path", "name", "nothing"
# The scheme of rows that ticks of other streams have handed over.
HANDED = "handed"


@dataclass(frozen=True)
class Connector:
    """A kind of source or sink."""

    scheme: str
    made_by: str  # `module.Class`, or what makes one, in connect/sources or connect/sinks
    place: str
    # Of files that hold the rows as they are, as Spark calls it. Empty for all other kinds.
    format: str = ""
    is_table: bool = False  # all of it can be read at once, as a table

    def load(self, folder: str) -> Any:
        """The class or function that `made_by` names, imported when it is first needed.

        >>> SINKS["discard"].load("sinks").__name__
        'DiscardSink'
        """
        module, _, name = self.made_by.partition(".")
        return getattr(import_module(f"tidemill.connect.{folder}.{module}"), name)


@dataclass(frozen=True)
class Connectors:
    """The connectors of one role, by scheme; no statement can name those that are `internal`."""

    role: str  # source or sink
    connectors: tuple[Connector, ...]
    not_built: tuple[str, ...] = ()
    internal: tuple[Connector, ...] = ()

    def __getitem__(self, scheme: str) -> Connector:
        return self._by_scheme[scheme]

    @property
    def schemes(self) -> tuple[str, ...]:
        return tuple(connector.scheme for connector in self.connectors)

    @cached_property
    def _by_scheme(self) -> dict[str, Connector]:
        connectors = (*self.connectors, *self.internal)
        return {connector.scheme: connector for connector in connectors}


SOURCES = Connectors(
    "source",
    (
        Connector("parquet", "files.FileSource", PATH, format="parquet", is_table=True),
        Connector("csv", "files.FileSource", PATH, format="csv", is_table=True),
        Connector("json", "files.FileSource", PATH, format="json", is_table=True),
        Connector("lines", "lines.LineSource", PATH, format="text"),
        Connector("generate", "generate.GenerateSource", NAME),
        Connector("replay", "replay.open_replay", PATH),
    ),
    not_built=("kafka", "pcap", "zeek", "socket", "mqtt"),
    internal=(Connector(HANDED, "handed.HandedSource", NAME),),
)
TABLES = Connectors(
    "source",
    tuple(connector for connector in SOURCES.connectors if connector.is_table),
    not_built=("kafka", "postgresql"),
)
SINKS = Connectors(
    "sink",
    (
        Connector("parquet", "parquet.ParquetSink", PATH),
        Connector("json", "json_lines.JsonSink", PATH),
        Connector("csv", "csv_lines.CsvSink", PATH),
        Connector("console", "console.ConsoleSink", NOTHING),
        Connector("memory", "memory.MemorySink", NOTHING),
        Connector("discard", "discard.DiscardSink", NOTHING),
    ),
    not_built=("kafka", "postgresql", "http", "https"),
)
_PATH_SCHEMES = {
    connector.scheme
    for register in (SOURCES, SINKS)
    for connector in register.connectors
    if connector.place == PATH
}


@dataclass(frozen=True)
class Address:
    """`scheme:path?key=value&…`, parsed."""

    scheme: str
    path: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def option_map(self) -> dict[str, str]:
        return dict(self.options)


def is_recorded(address: Address) -> bool:
    """True of a recording that plays in recorded order."""
    return address.scheme == "replay" and address.option_map.get("recorded", "").lower() == "true"


def parse_address(text: str, register: Connectors, place: Place | None = None) -> Address:
    """The address that a text names, or a refusal with the schemes that there are."""
    scheme, colon, rest = text.partition(":")
    scheme, role = scheme.lower(), register.role
    if scheme in register.not_built:
        refuse(
            "E_NOT_BUILT",
            f"{role} '{scheme}' is not built yet",
            hint=listing(f"{role}s that work", (f"{name}:" for name in register.schemes)),
            place=place,
        )
    if not colon or scheme not in register.schemes:
        choices = register.schemes
        refuse(
            f"E_{role.upper()}",
            f"no {role} '{text}'",
            detail=listing(f"{role}s", (f"{name}:" for name in choices)),
            hint=suggest(scheme, choices) or f"write a {role} as KIND:PLACE, as in 'parquet:DIR'",
            place=place,
        )
    path, _, query = rest.partition("?")
    if register[scheme].place != NOTHING and not path:
        primary = f"{role} '{text}' names no place after '{scheme}:'"
        refuse(f"E_{role.upper()}", primary, place=place)
    return Address(scheme, path, tuple(parse_qsl(query, keep_blank_values=True)))


def anchor_address(text: str, base: Path) -> str:
    """The address with its path absolute, if its scheme has one: relative paths begin at `base`.

    >>> anchor_address("CSV:data?header=true", Path("/scripts"))
    'csv:/scripts/data?header=true'
    >>> anchor_address("generate:packets", Path("/scripts"))
    'generate:packets'
    """
    scheme, colon, rest = text.partition(":")
    path, question, options = rest.partition("?")
    if scheme.lower() not in _PATH_SCHEMES or not path:
        return text
    anchored = os.path.abspath(base / Path(path).expanduser())
    return f"{scheme.lower()}{colon}{anchored}{question}{options}"
