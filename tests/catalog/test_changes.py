"""The catalog under ALTER, PAUSE, RESUME and tables: what each statement leaves behind."""

from __future__ import annotations

import sqlite3

import pytest

from tidemill.catalog import Catalog, CatalogStore
from tidemill.errors import TidemillError
from tidemill.language import parse_script, render
from tidemill.language.statements import Explain, RunSelect

SELECT = "SELECT COUNT(*) AS n FROM packets [RANGE 2 SECONDS SLIDE 1 SECOND]"
BASE = f"""
CREATE STREAM packets (ts TIMESTAMP, src STRING) ORDER BY ts SOURCE 'parquet:data';
CREATE TABLE whois (prefix STRING, owner STRING) SOURCE 'csv:whois.csv?header=true';
CREATE SINK results TO 'discard:';
CREATE SINK others TO 'memory:';
CREATE QUERY Counted INTO results AS {SELECT};
"""
JOINED = f"CREATE QUERY owners AS {SELECT} JOIN whois ON src = prefix"


def applied(text: str, catalog: Catalog | None = None) -> Catalog:
    catalog = catalog or Catalog()
    for statement in parse_script(text):
        assert not isinstance(statement, RunSelect | Explain)
        catalog = catalog.apply(statement)  # type: ignore[arg-type]
    return catalog


def refused(text: str) -> TidemillError:
    with pytest.raises(TidemillError) as caught:
        applied(text, applied(BASE))
    return caught.value


def test_alter_keeps_the_name_and_the_sink():
    query = applied(f"ALTER QUERY counted AS {SELECT} WHERE src = 'a'", applied(BASE)).query(
        "counted"
    )
    assert render(query) == (
        "CREATE QUERY Counted INTO results AS\n"
        "SELECT COUNT(*) AS n\n"
        "FROM packets [RANGE 2 SECONDS SLIDE 1 SECOND]\n"
        "WHERE src = 'a'"
    )


def test_alter_may_name_another_sink():
    catalog = applied(f"ALTER QUERY counted INTO others AS {SELECT}", applied(BASE))
    assert catalog.query("counted").into == "others"


def test_alter_of_an_unknown_query_lists_the_queries():
    problem = refused(f"ALTER QUERY count AS {SELECT}").problem
    assert problem.code == "E_UNKNOWN_QUERY"
    assert problem.detail == "queries: Counted"
    assert problem.hint == "did you mean 'Counted'?"


def test_pause_and_resume():
    catalog = applied("PAUSE QUERY COUNTED", applied(BASE))
    assert catalog.is_paused("Counted")
    assert catalog.paused == {"counted"}
    assert applied("PAUSE QUERY counted", catalog) == catalog
    assert not applied("RESUME QUERY Counted", catalog).paused
    assert applied("RESUME QUERY Counted", applied(BASE)) == applied(BASE)


@pytest.mark.parametrize("word", ["PAUSE", "RESUME"])
def test_an_unknown_query_is_neither_paused_nor_resumed(word):
    problem = refused(f"{word} QUERY q").problem
    assert problem.code == "E_UNKNOWN_QUERY"
    assert "Counted" in problem.detail


def test_a_pause_outlives_changes_but_not_the_query():
    paused = applied("PAUSE QUERY counted", applied(BASE))
    assert applied(f"ALTER QUERY counted AS {SELECT} LIMIT 1", paused).is_paused("counted")
    replaced = f"CREATE OR REPLACE QUERY counted AS {SELECT} LIMIT 2"
    assert applied(replaced, paused).is_paused("counted")
    assert not applied("DROP QUERY counted", paused).paused
    again = applied(f"DROP QUERY counted; CREATE QUERY counted AS {SELECT}", paused)
    assert not again.is_paused("counted")


def test_a_sink_keeps_the_pause_of_a_query_of_its_name():
    text = f"CREATE QUERY others AS {SELECT}; PAUSE QUERY others; DROP SINK others"
    assert applied(text, applied(BASE)).is_paused("others")


def test_everything_is_kept_in_the_store():
    catalog = applied(f"{JOINED}; PAUSE QUERY owners; SET steps_off = 'weave'", applied(BASE))
    connection = sqlite3.connect(":memory:")
    CatalogStore(connection).save(catalog)
    assert CatalogStore(connection).load() == catalog
    CatalogStore(connection).save(applied("RESUME QUERY owners", catalog))
    assert not CatalogStore(connection).load().paused


def test_a_home_from_before_there_were_pauses_loads():
    connection = sqlite3.connect(":memory:")
    CatalogStore(connection).save(applied(BASE))
    connection.execute("DROP TABLE paused")
    assert CatalogStore(connection).load() == applied(BASE)


def test_a_table():
    table = applied(BASE).table("WHOIS")
    assert (table.name, table.source.scheme, table.source.path) == ("whois", "csv", "whois.csv")
    assert table.source.option_map == {"header": "true"}
    assert [column.name for column in table.columns] == ["prefix", "owner"]


def test_a_table_is_replaced_only_while_nobody_joins_it():
    wider = "CREATE OR REPLACE TABLE whois (prefix STRING, owner STRING, n INT) SOURCE 'csv:w'"
    table = applied(wider, applied(BASE)).table("whois")
    assert [column.name for column in table.columns] == ["prefix", "owner", "n"]
    assert refused(f"{JOINED}; {wider}").code == "E_IN_USE"
    same = wider.replace(", n INT", "").replace("csv:w'", "csv:whois.csv?header=true'")
    joined = applied(BASE + JOINED)
    assert applied(same, joined) == joined


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (f"{JOINED}; DROP TABLE whois", "E_IN_USE", "used by standing queries"),
        ("DROP TABLE who", "E_UNKNOWN_TABLE", "no table 'who'"),
        ("CREATE TABLE packets (a INT) SOURCE 'csv:x'", "E_EXISTS", "a stream is called packets"),
        (
            "CREATE STREAM Whois (ts TIMESTAMP) ORDER BY ts SOURCE 'csv:x'",
            "E_EXISTS",
            "a table is called Whois",
        ),
        ("CREATE TABLE whois (a INT) SOURCE 'csv:x'", "E_EXISTS", "exists and differs"),
        (
            f"{JOINED}; CREATE OR REPLACE TABLE whois (prefix STRING) SOURCE 'csv:x'",
            "E_IN_USE",
            "cannot be replaced while standing queries join it",
        ),
        ("CREATE TABLE t (a INT, A INT) SOURCE 'csv:x'", "E_DUPLICATE", "declared twice"),
        ("CREATE TABLE t (_a INT) SOURCE 'csv:x'", "E_NAME", "kept for the engine"),
        ("CREATE TABLE t (a INT) SOURCE 'generate:packets'", "E_SOURCE", "no source"),
        ("CREATE TABLE t (a INT) SOURCE 'csv:'", "E_SOURCE", "names no place"),
        ("CREATE TABLE t (a INT) SOURCE 'csv:x' WITH (header = true)", "E_OPTION", "header"),
        ("CREATE TABLE `a/b` (a INT) SOURCE 'csv:x'", "E_NAME", "name of a folder"),
    ],
)
def test_refusal(text, code, words):
    error = refused(text)
    assert error.code == code
    assert words in error.problem.primary


def test_a_table_has_no_window_and_a_stream_is_not_joined():
    with pytest.raises(TidemillError, match="whois is a table") as caught:
        applied(BASE).stream("whois")
    assert caught.value.code == "E_NOT_A_STREAM"
    with pytest.raises(TidemillError, match="packets is a stream") as caught:
        applied(BASE).table("packets")
    assert caught.value.code == "E_WINDOW"
