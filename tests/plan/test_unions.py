"""Unions as plans: one part for each branch, said in the words of its source."""

from __future__ import annotations

import pytest

from tests.plan.test_derived_streams import ENVIRONMENT, catalog_of
from tidemill.catalog import Catalog
from tidemill.errors import TidemillError
from tidemill.language import parse_script, render
from tidemill.language.statements import CreateDerivedStream, CreateQuery
from tidemill.plan.bind.binder import bind_query
from tidemill.plan.bind.streams import bound_stream
from tidemill.plan.query import QueryPlan
from tidemill.plan.row_query import RowQuery

SOURCES = """
CREATE STREAM berlin (ts TIMESTAMP, src STRING, length INT) ORDER BY ts SOURCE 'parquet:a';
CREATE STREAM paris (at TIMESTAMP, host STRING, size BIGINT, seen TIMESTAMP)
  ORDER BY at SOURCE 'parquet:b';
CREATE TABLE whois (prefix STRING, owner STRING) SOURCE 'csv:whois.csv';
"""
BOTH = """
CREATE STREAM both AS SELECT ts, src, length AS bytes FROM berlin
  UNION ALL SELECT at, host, size FROM paris WHERE size > 0;
"""
MORE = """
CREATE STREAM twice AS SELECT * FROM both UNION ALL SELECT ts, src, length FROM berlin;
CREATE STREAM big AS SELECT bytes * 8 AS bits, ts AS t, src AS who FROM twice WHERE bytes > 10;
"""
WINDOW = "[RANGE 10 s SLIDE 5 s]"


def catalog(script: str = BOTH + MORE) -> Catalog:
    return catalog_of(SOURCES + script)


def plan_of(select: str, script: str = BOTH + MORE) -> QueryPlan:
    (query,) = parse_script(f"CREATE QUERY q AS {select}")
    assert isinstance(query, CreateQuery)
    plan = bind_query(query, catalog(script), ENVIRONMENT)
    assert isinstance(plan, QueryPlan)
    return plan


def test_a_union_has_the_names_of_the_first_and_the_widest_types() -> None:
    both = bound_stream("both", catalog(), ENVIRONMENT)
    columns = [f"{column.name} {column.type}" for column in both.face.columns]
    assert columns == ["ts TIMESTAMP", "src STRING", "bytes BIGINT"]
    assert [branch.source.name for branch in both.branches] == ["berlin", "paris"]
    assert all(branch.time_column == "ts" for branch in (both.face, *both.branches))


def test_unions_of_unions_and_streams_over_them_are_flat() -> None:
    big = bound_stream("big", catalog(), ENVIRONMENT)
    assert [branch.source.name for branch in big.branches] == ["berlin", "paris", "berlin"]
    assert big.face.time_column == "t"
    assert [branch.trees[0].scalar.sql for branch in big.branches] == [
        "CAST(length AS BIGINT) * 8",
        "size * 8",
        "CAST(length AS BIGINT) * 8",
    ]


def test_each_part_is_the_query_over_its_source() -> None:
    text = f"""SELECT src, SUM(bytes) AS s, MAX(bytes + 1) / COUNT(*) AS m FROM both {WINDOW}
      WHERE bytes < 99 GROUP BY src HAVING SUM(bytes) > 5"""
    plan = plan_of(text)
    first, second = plan.parts
    direct = plan_of(
        f"""SELECT host, SUM(size) AS s, MAX(size + 1) / COUNT(*) AS m FROM paris {WINDOW}
        WHERE size > 0 AND size < 99 GROUP BY host"""
    )
    assert second.predicate == direct.predicate
    assert second.relation == direct.relation
    assert [key.scalar for key in second.keys] == [key.scalar for key in direct.keys]
    assert [call.sql for call in second.aggregates] == [call.sql for call in direct.aggregates]
    assert [call.sql for call in first.aggregates] == [
        "SUM(CAST(length AS BIGINT))",
        "MAX(CAST(length AS BIGINT) + 1)",
        "COUNT(*)",
    ]
    assert [call.slot for call in first.aggregates] == [call.slot for call in plan.aggregates]
    assert (first.name, first.owner) == ("q ⊎1", "q")


def test_what_is_one_column_in_one_branch_alone_keeps_its_places() -> None:
    script = """
    CREATE STREAM u AS SELECT ts, length AS a, length AS b, 'x' AS c, ts AS d FROM berlin
      UNION ALL SELECT at, size, size + 1, host, seen FROM paris;
    CREATE STREAM v AS SELECT d, ts, a, b FROM u;
    """
    plan = plan_of(f"SELECT a, b, SUM(a), SUM(b) AS s2 FROM u {WINDOW} GROUP BY a, b, c", script)
    assert [key.scalar.sql for key in plan.parts[0].keys] == [
        *["CAST(length AS BIGINT)"] * 2,
        "CAST('x' AS STRING)",
    ]
    assert [key.scalar.sql for key in plan.parts[1].keys] == ["size", "size + 1", "host"]
    assert len({len(part.aggregates) for part in plan.parts}) == 1
    # Its time is that of the union, also where another column is the same in some branch.
    assert bound_stream("v", catalog(script), ENVIRONMENT).branches[0].time_column == "ts"


def test_rows_of_a_union_leave_from_each_of_its_sources() -> None:
    (query,) = parse_script("CREATE QUERY q AS SELECT * FROM both ORDER BY ts")
    assert isinstance(query, CreateQuery)
    rows = bind_query(query, catalog(), ENVIRONMENT)
    assert isinstance(rows, RowQuery)
    assert [part.ordered for part in rows.parts] == [True, True]
    assert [str(column) for column in rows.parts[1].columns] == [
        "at AS ts",
        "host AS src",
        "size AS bytes",
    ]


def test_the_text_of_a_union_is_read_as_it_is_written() -> None:
    (stream,) = parse_script(BOTH)
    assert isinstance(stream, CreateDerivedStream)
    assert render(parse_script(render(stream))[0]) == render(stream)
    assert len(stream.members) == 2


REFUSED = {
    "SELECT ts, src FROM berlin UNION ALL SELECT at FROM paris": ("number of columns", "SELECT at"),
    "SELECT ts, src FROM berlin UNION ALL SELECT host, at FROM paris": ("time", "SELECT host"),
    "SELECT ts, src FROM berlin UNION ALL SELECT at, size FROM paris": ("common type", "size"),
    "SELECT ts FROM berlin UNION SELECT at FROM paris": ("UNION without ALL", "UNION"),
    "SELECT ts FROM berlin UNION ALL SELECT size FROM paris": ("no time", "SELECT size"),
    "SELECT ts FROM berlin UNION ALL SELECT ts FROM nowhere": ("no stream 'nowhere'", "nowhere"),
    "SELECT ts FROM berlin UNION ALL SELECT ts FROM u": ("cannot read itself", "u"),
}


@pytest.mark.parametrize("select", REFUSED)
def test_members_that_do_not_fit_are_refused_at_their_place(select: str) -> None:
    words, place = REFUSED[select]
    text = f"CREATE STREAM u AS {select}"
    with pytest.raises(TidemillError) as refusal:
        catalog(text)
    problem = refusal.value.problem
    assert words in problem.primary
    assert problem.hint
    assert problem.place is not None
    assert (SOURCES + text)[problem.place.start :].startswith(place)
