"""What a table declaration promises, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from tidemill.catalog.streams import Address, check_columns, parse_address
from tidemill.errors import refuse
from tidemill.language.statements import ColumnDef, CreateTable

TABLE_SOURCES = ("parquet", "csv", "json")
_LATER_SOURCES = ("kafka", "postgresql")


@dataclass(frozen=True)
class Table:
    """A relation as the rest of the engine sees it; `source.options` are for the reader."""

    name: str
    columns: tuple[ColumnDef, ...]
    source: Address


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
    place = statement.source_place
    source = parse_address(statement.source, "source", TABLE_SOURCES, _LATER_SOURCES, place)
    return Table(statement.name, statement.columns, source)
