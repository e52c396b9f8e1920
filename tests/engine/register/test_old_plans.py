"""Plans as earlier releases wrote them: they are read as this release would write them.

`old_plans` has bodies of the table of synopses, each as it stood in a home of its time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.plan.test_joins import CATALOG
from tests.share.test_joined import CONTEXT, INNER, LEFT, queries, shared
from tidemill.catalog import Catalog, CatalogStore
from tidemill.engine.register.store import PlanStore, load_registered
from tidemill.language import parse_script, render
from tidemill.language.names import Name
from tidemill.language.statements import CreateQuery, Drop
from tidemill.plan.joins import Join
from tidemill.plan.row_query import AnyQuery
from tidemill.share import EngineCosts, SharedPlan
from tidemill.share.weave import MachineCosts
from tidemill.state.synopsis import Synopsis

# Where cells are kept by condition.
ROUTING = replace(CONTEXT, costs=EngineCosts(machine=MachineCosts(narrow_ns=1e6)))
BODIES = Path(__file__).parent / "old_plans"
JOINED = (BODIES / "stream_and_joins.json").read_text(encoding="utf-8")


OLD_QUERY = (
    "CREATE QUERY q AS SELECT src, FIRST(port) + 1, LAST(port) AS newest, COUNT(*)"
    " FROM packets [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY src"
    " HAVING LAST_VALUE(port) > 0 ORDER BY FIRST(port)"
)
NOW = (
    "SELECT src, FIRST(port) IGNORE NULLS + 1 AS `first(port) + 1`,"
    " LAST(port) IGNORE NULLS AS newest, COUNT(*)"
    " FROM packets [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY src"
    " HAVING LAST_VALUE(port) IGNORE NULLS > 0 ORDER BY FIRST(port) IGNORE NULLS"
)


def with_query() -> Catalog:
    (statement,) = parse_script(f"{OLD_QUERY};")
    assert isinstance(statement, CreateQuery)
    return CATALOG.apply(statement)


def nothing_to_bind(catalog: Catalog, _joins: Sequence[Join]) -> tuple[AnyQuery, ...]:
    assert not catalog.standing()
    return ()


def read(body: str, catalog: Catalog) -> Synopsis:
    connection = sqlite3.connect(":memory:")
    store = PlanStore(connection)
    connection.execute("INSERT INTO plan VALUES (1, 7, 2, '{\"packets\": [[2, 0.5]]}')")
    connection.execute("INSERT INTO synopses VALUES ('s1', 1, ?)", (body,))
    plan = store.load(catalog, nothing_to_bind)
    assert dict(plan.rebuild_costs) == {Name("Packets"): ((2, 0.5),)}
    connection.close()
    return plan.synopsis("s1")


def written_again(synopsis: Synopsis) -> Synopsis:
    connection = sqlite3.connect(":memory:")
    store = PlanStore(connection)
    store.save(SharedPlan(), SharedPlan(synopses=(synopsis,)))
    (again,) = store.load(Catalog(), nothing_to_bind).synopses
    connection.close()
    return again


def test_a_stream_and_its_joins_are_a_relation():
    plan, _ = shared(queries(INNER, LEFT, multiplies=False), ROUTING)
    (synopsis,) = plan.synopses
    found = read(JOINED, CATALOG)
    assert found == synopsis
    assert found.relation.columns == synopsis.relation.columns
    assert str(found.relation) == str(synopsis.relation)


def test_a_relation_comes_back_with_all_that_is_not_compared():
    found = read(JOINED, CATALOG)
    again = written_again(found)
    assert again == found
    assert again.relation.columns == found.relation.columns
    assert again.relation.sources[0].name.written == "packets"


def test_a_join_may_outlive_the_declaration_of_its_table():
    found = read(JOINED, CATALOG.apply(Drop("TABLE", "whois")))
    assert found == read(JOINED, CATALOG)
    assert [join.columns for join in found.relation.joins] == [()]


def test_first_and_last_of_before_go_on_leaving_nulls_out():
    connection = sqlite3.connect(":memory:")
    CatalogStore(connection).save(with_query())
    connection.execute("PRAGMA user_version = 0")

    def told(catalog: Catalog) -> str:
        (query,) = catalog.queries()
        return " ".join(render(query).split())

    before = load_registered(connection, lambda *_: ()).catalog
    assert NOW in told(before)
    # What is written by now means what it says.
    CatalogStore(connection).save(with_query())
    assert "IGNORE NULLS" not in told(load_registered(connection, lambda *_: ()).catalog)
    connection.close()
