"""Queries over streams have the plans of queries over their source, word for word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tidemill.aggregates.functions import BUILT_IN
from tidemill.catalog import Catalog
from tidemill.errors import TidemillError
from tidemill.explain.plan import explain_plan
from tidemill.language import parse_script
from tidemill.language.statements import (
    CreateDerivedStream,
    CreateQuery,
    CreateStream,
    CreateTable,
    Drop,
)
from tidemill.plan.bind.binder import bind_query
from tidemill.plan.bind.environment import Environment
from tidemill.plan.bind.streams import bound_stream
from tidemill.plan.joins import TableExtent
from tidemill.plan.query import QueryPlan
from tidemill.types import BOOLEAN, INT, STRING, TIMESTAMP, Type

SOURCES = """
CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT, ok BOOLEAN)
  ORDER BY ts SOURCE 'parquet:in';
CREATE TABLE whois (prefix STRING, owner STRING) SOURCE 'csv:whois.csv';
CREATE TABLE lands (owner STRING, land STRING) SOURCE 'csv:lands.csv';
"""
STREAMS = """
CREATE STREAM big AS SELECT ts AS at, src, length AS bytes, port FROM packets WHERE length > 1000;
CREATE STREAM bits AS SELECT at, src AS who, bytes * 8 AS bits, bytes FROM big AS b
  WHERE b.port IN (80, 443);
CREATE STREAM every AS SELECT * FROM bits;
CREATE STREAM rates AS SELECT ts, src, length / port AS rate, 5 AS five FROM packets
  WHERE port <> 0;
CREATE STREAM fast AS SELECT * FROM rates WHERE rate > 2;
CREATE STREAM owned AS SELECT ts, length, owner, w.prefix FROM packets JOIN whois w ON src = prefix
  WHERE length > 10;
CREATE STREAM landed AS SELECT o.*, land FROM owned o LEFT JOIN lands USING (owner);
CREATE STREAM nobody AS SELECT ts, src FROM packets WHERE FALSE;
"""
WINDOW = "[RANGE 10 s SLIDE 5 s]"


def catalog_of(script: str, environment: Environment | None = None) -> Catalog:
    catalog = Catalog()
    for statement in parse_script(script):
        assert isinstance(statement, CreateStream | CreateDerivedStream | CreateTable | Drop)
        catalog = catalog.apply(statement)
        if isinstance(statement, CreateDerivedStream):
            bound_stream(statement.name, catalog, environment or ENVIRONMENT)
    return catalog


def text_or_truth(sql: str, _columns: Mapping[str, Type]) -> Type:
    """For what is not worked out here: Spark is not asked in these tests."""
    return STRING if "AS STRING" in sql else BOOLEAN


ENVIRONMENT = Environment(
    BUILT_IN, text_or_truth, lambda terms, *_: TableExtent(f"{terms.table}.parquet", False)
)
CATALOG = catalog_of(SOURCES + STREAMS)


def bound(select: str) -> QueryPlan:
    (query,) = parse_script(f"CREATE QUERY q AS SELECT {select}")
    assert isinstance(query, CreateQuery)
    plan = bind_query(query, CATALOG, ENVIRONMENT)
    assert isinstance(plan, QueryPlan)
    return plan


# Over streams, and over what they are made of.
PAIRS = {
    f"SUM(bytes) AS b FROM big {WINDOW}": (
        f"SUM(length) AS b FROM packets {WINDOW} WHERE length > 1000"
    ),
    f"src, COUNT(*) AS n FROM big {WINDOW} WHERE bytes < 9000 GROUP BY src": (
        f"src, COUNT(*) AS n FROM packets {WINDOW} WHERE length > 1000 AND length < 9000"
        " GROUP BY src"
    ),
    f"who, SUM(bits) AS b, MAX(bytes) AS m FROM bits {WINDOW} GROUP BY who": (
        f"src AS who, SUM(length * 8) AS b, MAX(length) AS m FROM packets {WINDOW}"
        " WHERE length > 1000 AND port IN (443, 80) GROUP BY src"
    ),
    f"bits + 1 AS b, COUNT(*) AS n FROM every {WINDOW} AS e"
    " GROUP BY e.bits + 1 HAVING MAX(bits) > 5": (
        f"length * 8 + 1 AS b, COUNT(*) AS n FROM packets {WINDOW} WHERE length > 1000"
        " AND port IN (80, 443) GROUP BY length * 8 + 1 HAVING MAX(length * 8) > 5"
    ),
    f"owner, COUNT(*) AS n FROM owned {WINDOW} GROUP BY owner": (
        f"owner, COUNT(*) AS n FROM packets {WINDOW} JOIN whois ON prefix = src WHERE length > 10"
        " GROUP BY owner"
    ),
    f"land, SUM(length) AS n FROM landed {WINDOW} WHERE owner <> 'p' GROUP BY land": (
        f"land, SUM(length) AS n FROM packets {WINDOW} JOIN whois ON prefix = src"
        " LEFT JOIN lands ON lands.owner = whois.owner"
        " WHERE length > 10 AND whois.owner <> 'p' GROUP BY land"
    ),
    f"COUNT(*) AS n FROM nobody {WINDOW}": f"COUNT(*) AS n FROM packets {WINDOW} WHERE FALSE",
    f"LAST(bytes) AS b FROM big {WINDOW}": (
        f"LAST(length) AS b FROM packets {WINDOW} WHERE length > 1000"
    ),
    f"AVG(rate) AS r FROM rates {WINDOW}": (
        f"AVG(length / port) AS r FROM packets {WINDOW} WHERE port <> 0"
    ),
    f"COUNT(DISTINCT src) AS n FROM big {WINDOW} JOIN whois ON src = prefix": (
        f"COUNT(DISTINCT src) AS n FROM packets {WINDOW} JOIN whois ON src = prefix"
        " WHERE length > 1000"
    ),
}


@pytest.mark.parametrize("over_stream", PAIRS)
def test_a_query_over_a_stream_is_one_over_its_source(over_stream: str) -> None:
    plan, plain = bound(over_stream), bound(PAIRS[over_stream])
    assert plan == plain
    assert plan.tree != plain.tree
    assert plan.tree.base == plan.relation.base


def test_what_may_raise_is_asked_of_rows_of_the_stream_alone() -> None:
    where = bound(f"COUNT(*) AS n FROM fast {WINDOW} WHERE five > 1").where
    assert where is not None
    assert where.sql == "port <> 0 IS TRUE AND length / port > 2 AND 1 < CAST(5 AS INT)"
    joined = bound(f"COUNT(*) AS n FROM rates {WINDOW} JOIN whois ON CAST(rate AS STRING) = prefix")
    (join,) = joined.relation.joins
    assert join.befores[0].sql.startswith("CASE WHEN port <> 0 THEN")


def test_the_tree_of_a_plan_names_the_streams() -> None:
    plan = bound(f"COUNT(*) AS n FROM landed {WINDOW} AS l JOIN whois ON l.prefix = whois.prefix")
    assert explain_plan(plan).splitlines()[1:7] == [
        "  from       inner join whois ON w.prefix = whois.prefix   (Catalyst, broadcast)",
        "               stream landed: select ts, length, w.owner AS owner, w.prefix AS prefix, "
        "lands.land AS land",
        "                 left join lands ON w.owner = lands.owner   (Catalyst, broadcast)",
        "                   stream owned: select ts, length, w.owner AS owner, w.prefix AS prefix "
        "where length > 10",
        "                     inner join whois AS w ON src = w.prefix   (Catalyst, broadcast)",
        "                       stream packets",
    ]
    assert len(plan.relation.joins) == 3


def test_star_is_all_columns_in_the_order_of_spark() -> None:
    script = """
    CREATE STREAM a AS SELECT packets.*, owner FROM packets JOIN whois ON src = prefix;
    CREATE STREAM b AS SELECT * FROM a JOIN lands USING (owner);
    """
    catalog = catalog_of(SOURCES + script)
    branch = bound_stream("b", catalog, ENVIRONMENT).face
    names = [column.name for column in branch.columns]
    assert names == ["owner", "ts", "src", "port", "length", "ok", "land"]
    assert [c.type for c in branch.columns if c.name in ("port", "land")] == [INT, STRING]
    assert branch.time_column == "ts"


def test_time_is_the_first_column_that_is_the_time_itself() -> None:
    items = "src, ts + INTERVAL 1 DAY AS ts, packets.ts AS u, packets.ts AS v"
    script = f"CREATE STREAM a AS SELECT {items} FROM packets"
    environment = replace(ENVIRONMENT, type_of=lambda *_: TIMESTAMP)
    branch = bound_stream("a", catalog_of(SOURCES + script, environment), environment).face
    assert branch.time_column == "u"


def test_a_struct_calls_its_fields_as_the_stream_does() -> None:
    script = "CREATE STREAM a AS SELECT at, STRUCT(bytes, port, bytes + 1 AS more) AS s FROM big"
    environment = replace(ENVIRONMENT, type_of=lambda *_: STRING)
    catalog = catalog_of(SOURCES + STREAMS + script, environment)
    columns = bound_stream("a", catalog, environment).face.trees
    assert columns[1].scalar.sql == "STRUCT(length AS bytes, port AS port, length + 1 AS more)"


def test_the_arrival_stamp_is_time_too() -> None:
    script = """
    CREATE STREAM pings (sensor STRING, current_time TIMESTAMP) ORDER BY current_time
      SOURCE 'csv:pings';
    CREATE STREAM seen AS SELECT sensor, current_time AS at FROM pings WHERE sensor <> 'x';
    """
    branch = bound_stream("seen", catalog_of(script), ENVIRONMENT).face
    assert (branch.time_column, branch.source.stamped_on_arrival) == ("at", True)


REFUSED = {
    "CREATE STREAM a AS SELECT src FROM packets": ("E_NO_TIME", "no column is ts of packets"),
    "CREATE STREAM a AS SELECT COALESCE(ts, ts) AS ts FROM packets": ("E_NO_TIME", "has no time"),
    "CREATE STREAM a AS SELECT at AS t FROM big; CREATE STREAM b AS SELECT ts FROM a": (
        "E_UNKNOWN_COLUMN",
        "no column 'ts' in stream a",
    ),
    "CREATE STREAM a AS SELECT at, lenght FROM big": ("E_UNKNOWN_COLUMN", "no column 'lenght'"),
    "CREATE STREAM a AS SELECT * FROM bg": ("E_UNKNOWN_STREAM", "no stream 'bg'"),
    "CREATE STREAM a AS SELECT * FROM whois": ("E_NOT_A_STREAM", "whois is a table"),
    "CREATE STREAM a AS SELECT * FROM a": ("E_RELATION", "cannot read itself"),
    "CREATE STREAM a AS SELECT ts, x.* FROM packets": ("E_UNKNOWN_NAME", "no part of FROM"),
    "CREATE STREAM a AS SELECT ts, length * 8 FROM packets": ("E_NAME", "has no name"),
    "CREATE STREAM a AS SELECT *, src FROM packets": ("E_DUPLICATE", "'src' is declared twice"),
    "CREATE STREAM a AS SELECT ts, src AS _x FROM packets": ("E_NAME", "kept for the engine"),
    "CREATE STREAM a AS SELECT ts, SUM(length) AS n FROM packets": (
        "E_AGGREGATE_IN_CREATE_STREAM",
        "aggregate SUM cannot stand",
    ),
    "CREATE STREAM a AS SELECT ts FROM packets WHERE COUNT(*) > 1": ("E_AGGREGATE_IN_WHERE", ""),
    "CREATE STREAM a AS SELECT ts FROM packets WHERE length": ("E_TYPE", "not BOOLEAN"),
    "CREATE STREAM a AS SELECT ts, RAND() AS r FROM packets": ("E_NOT_DETERMINISTIC", "RAND"),
    "CREATE STREAM a AS SELECT ts FROM packets JOIN big ON TRUE": ("E_WINDOW", "no window here"),
    "DROP STREAM packets": ("E_IN_USE", "used by streams"),
    "DROP STREAM big": ("E_IN_USE", "used by streams"),
    "DROP TABLE lands": ("E_IN_USE", "used by streams"),
    "CREATE OR REPLACE STREAM big AS SELECT ts AS at FROM packets": (
        "E_IN_USE",
        "cannot be replaced while streams read it",
    ),
    "CREATE STREAM big AS SELECT * FROM packets": ("E_EXISTS", "exists and differs"),
    "CREATE OR REPLACE STREAM packets (ts TIMESTAMP) ORDER BY ts SOURCE 'parquet:in'": (
        "E_IN_USE",
        "cannot lose or change columns while streams read it",
    ),
    "CREATE OR REPLACE STREAM packets AS SELECT at FROM big": ("E_IN_USE", "cannot be replaced"),
}


@pytest.mark.parametrize("script", REFUSED)
def test_refusals(script: str) -> None:
    code, words = REFUSED[script]
    with pytest.raises(TidemillError) as refused:
        catalog_of(SOURCES + STREAMS + script)
    assert refused.value.code == code
    assert words in refused.value.render()


@pytest.mark.parametrize(
    ("select", "code", "words"),
    [
        (f"SUM(bites) AS b FROM big {WINDOW}", "E_UNKNOWN_COLUMN", "columns: at, src, bytes, port"),
        (f"SUM(length) AS b FROM big {WINDOW}", "E_UNKNOWN_COLUMN", "no column 'length'"),
        (f"bits FROM bits {WINDOW} GROUP BY who", "E_UNGROUPED", "column 'bits' is neither"),
        (f"five FROM rates {WINDOW} GROUP BY src", "E_UNGROUPED", "column 'five' is neither"),
        (f"MAX(w.owner) AS o FROM owned {WINDOW}", "E_UNKNOWN_COLUMN", ""),
        (f"COUNT(*) AS n FROM big {WINDOW} WHERE bytes", "E_TYPE", "WHERE is BIGINT"),
    ],
)
def test_refusals_of_queries(select: str, code: str, words: str) -> None:
    with pytest.raises(TidemillError) as refused:
        bound(select)
    assert refused.value.code == code
    assert words in refused.value.render()


def test_streams_go_in_one_script_after_their_readers() -> None:
    drops = ["landed", "owned", "fast", "rates", "every", "bits", "nobody", "big", "packets"]
    catalog = catalog_of(SOURCES + STREAMS + "".join(f"DROP STREAM {name};" for name in drops))
    assert catalog.of_kind("stream") == ()


def test_an_identical_statement_does_nothing() -> None:
    assert catalog_of(SOURCES + STREAMS + STREAMS) == CATALOG
    again = STREAMS.replace("CREATE STREAM", "CREATE OR REPLACE STREAM")
    assert catalog_of(SOURCES + STREAMS + again) == CATALOG
