"""Tables as they are declared, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from tidemill.catalog.addresses import TABLES, Address, parse_address
from tidemill.catalog.streams import check_columns
from tidemill.errors import refuse
from tidemill.language.statements import ColumnDef, CreateTable


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
