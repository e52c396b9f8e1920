"""Names are folded once, and keep the spelling of whoever gave them."""

from __future__ import annotations

import pickle

import pytest

from tidemill.catalog import Catalog
from tidemill.errors import TidemillError
from tidemill.language import parse_script
from tidemill.language.names import Name, by_name
from tidemill.language.statements import ColumnDef
from tidemill.types import BIGINT

SCRIPT = """
CREATE STREAM Packets (ts TIMESTAMP, n BIGINT) ORDER BY TS SOURCE 'parquet:data';
CREATE TABLE Whois (prefix STRING) SOURCE 'csv:w';
CREATE SINK Out TO 'discard:';
CREATE QUERY Q INTO out AS SELECT COUNT(*) AS n FROM PACKETS [RANGE 2 SECONDS SLIDE 1 SECOND];
"""


def catalog() -> Catalog:
    made = Catalog()
    for statement in parse_script(SCRIPT):
        made = made.apply(statement)  # type: ignore[arg-type]
    return made


def test_a_name_is_the_same_in_any_case():
    name = Name("Packets")
    assert (name, name.written) == ("packets", "Packets")
    assert {name: 1}[Name("PACKETS")] == 1
    assert Name(name) is name
    assert sorted([Name("b"), Name("A")]) == ["a", "b"]


def test_a_name_keeps_its_spelling_between_processes():
    again = pickle.loads(pickle.dumps(Name("Packets")))
    assert (again, again.written) == (Name("packets"), "Packets")


def test_things_are_found_by_their_names():
    columns = by_name([ColumnDef("A", BIGINT), ColumnDef("b", BIGINT)])
    assert columns[Name("a")].name == "A"
    assert list(columns) == ["a", "b"]


def test_a_declaration_is_worked_out_once_for_each_catalog():
    standing = catalog()
    assert standing.stream("packets") is standing.stream("PACKETS")
    assert standing.table("whois") is standing.table("Whois")
    assert standing.sink("OUT") is standing.sink("out")
    changed = standing.apply(*parse_script("SET scan = 'auto'"))  # type: ignore[arg-type]
    assert changed.stream("packets") == standing.stream("packets")


def test_a_declaration_made_anew_is_worked_out_anew():
    standing = catalog()
    before = standing.stream("packets")
    script = (
        SCRIPT.split(";")[0].replace("CREATE", "CREATE OR REPLACE").replace("ts T", "m INT, ts T")
    )
    (statement,) = parse_script(script)
    after = standing.apply(statement)  # type: ignore[arg-type]
    assert [column.name for column in after.stream("packets").columns] == ["m", "ts", "n"]
    assert standing.stream("packets") is before


def test_streams_and_tables_share_their_names_in_any_case():
    (statement,) = parse_script("CREATE TABLE PACKETS (a INT) SOURCE 'csv:x'")
    with pytest.raises(TidemillError, match="a stream is called PACKETS already"):
        catalog().apply(statement)  # type: ignore[arg-type]
