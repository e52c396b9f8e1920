"""The register of generators: the names that may follow `generate:`.

>>> make_generator("nexmark/bid", {"rate": "100"}).name
'nexmark/bid'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidemill.connect.generators.contract import Generator
from tidemill.connect.nexmark.generator import TABLES_OF_NEXMARK, nexmark_table
from tidemill.connect.packets.generator import packets
from tidemill.errors import listing, refuse, suggest


@dataclass(frozen=True)
class GeneratorFamily:
    """Streams that are made from one seed and belong together."""

    make: Callable[[str, Mapping[str, str]], Generator]  # from a table's name
    rows_option: str  # the option that says how many rows they have in all
    tables: tuple[str, ...] = ("",)  # after the name and a slash; empty where there is one alone


FAMILIES = {
    "packets": GeneratorFamily(packets, "rows"),
    "nexmark": GeneratorFamily(nexmark_table, "events", TABLES_OF_NEXMARK),
}


def make_generator(name: str, options: Mapping[str, str]) -> Generator:
    """The generator of that name, or a refusal with the names that there are."""
    start, _, table = name.partition("/")
    family = FAMILIES.get(start)
    if family is None or table not in family.tables:
        names = generator_names()
        refuse(
            "E_SOURCE",
            f"no generator '{name}'",
            detail=listing("generators", names),
            hint=_several(start) or suggest(name, names),
        )
    return family.make(table, options)


def generator_names() -> tuple[str, ...]:
    return tuple(
        f"{name}/{table}".strip("/") for name, family in FAMILIES.items() for table in family.tables
    )


def _several(name: str) -> str | None:
    """A family of several streams says which it has."""
    family = FAMILIES.get(name)
    if family is None or len(family.tables) == 1:
        return None
    return f"a stream has one table of {name}, as in generate:{name}/{family.tables[-1]}"
