"""Who takes a scan: by the source, the setting and what the queries ask for, without Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.scan.arrays.rows import SIGNATURES, STREAM, one_feed, plan_of
from tests.scan.arrays.test_joined import declared
from tidemill.catalog.addresses import Address
from tidemill.language import parse_script
from tidemill.language.statements import CreateQuery
from tidemill.plan.bind.binder import bind
from tidemill.plan.bind.environment import Environment
from tidemill.plan.joins import TableExtent
from tidemill.plan.query import QueryPlan
from tidemill.scan.routes import AUTO, CATALYST, COLUMNAR, divide_feeds, hindrance, planned_route
from tidemill.types import BINARY

PLAIN = "SELECT n, COUNT(*) AS c FROM s [RANGE 1 s SLIDE 1 s] GROUP BY n"
ODD = "SELECT MIN(k) AS c FROM s [RANGE 1 s SLIDE 1 s]"


def joined_plan(sql: str) -> QueryPlan:
    (query,) = parse_script(f"CREATE QUERY q AS {sql}")
    assert isinstance(query, CreateQuery)
    environment = Environment(SIGNATURES, extent_of=lambda *_: TableExtent("u", True))
    return bind(query, STREAM, environment, (declared("u"),))


def test_what_arrays_cannot_do_is_said() -> None:
    for sql, reason in (
        ("SELECT n % 2 AS m, COUNT(*) AS c FROM s [RANGE 1 s SLIDE 1 s] GROUP BY n % 2", "n % 2"),
        ("SELECT x, COUNT(*) AS c FROM s [RANGE 1 s SLIDE 1 s] GROUP BY x", "grouped by x"),
        ("SELECT MIN(k) AS c FROM s [RANGE 1 s SLIDE 1 s]", "keeps min(k)"),
        ("SELECT SUM(price) AS c FROM s [RANGE 1 s SLIDE 1 s]", "keeps sum(price)"),
        ("SELECT COUNT(*) AS c FROM s [RANGE 1 s SLIDE 1 s] WHERE x / n > 1.5", "asks whether"),
        ("SELECT SUM(price * 2) AS c FROM s [RANGE 1 s SLIDE 1 s]", "keeps sum(price * 2)"),
        ("SELECT COUNT(*) AS c FROM s [RANGE 1 s SLIDE 1 s] WHERE price + n > 2", "asks whether"),
    ):
        assert reason in hindrance(STREAM, one_feed(plan_of(0, sql)), AUTO)


@pytest.mark.parametrize(
    "select",
    [
        "SUM(n * 8) AS a, MAX(x - 1.5) AS b FROM s [RANGE 1 s SLIDE 1 s]",
        "t + n AS m, COUNT(*) AS a FROM s [RANGE 1 s SLIDE 1 s] GROUP BY t + n",
        "COUNT(*) AS a FROM s [RANGE 1 s SLIDE 1 s] WHERE n * 2 > t AND x > 1.5",
    ],
)
def test_computed_columns_stay_on_arrays(select: str) -> None:
    assert hindrance(STREAM, one_feed(plan_of(0, f"SELECT {select}")), AUTO) == ""


def test_a_join_on_more_than_plain_columns_is_left_to_catalyst() -> None:
    for join, reason in (
        ("JOIN u ON un = n AND ut < t", "table u is joined on u.ut < t"),
        ("JOIN u ON un = n + 1", "table u is joined on n + 1 = u.un"),
        ("JOIN u ON ux = x", "table u is joined on x = u.ux"),
        ("JOIN u ON uprice = n", "table u is joined on n = u.uprice"),
        ("JOIN u ON un = n WHERE ux / 2 > 0.5", "asks whether"),
        ("JOIN u ON un = n", ""),
        ("JOIN u ON un = big AND uk = k", ""),
    ):
        where = f"SELECT COUNT(*) AS c FROM s [RANGE 1 s SLIDE 1 s] {join}"
        reasons = hindrance(STREAM, one_feed(joined_plan(where)), AUTO)
        assert reasons.startswith(reason), join
        assert bool(reasons) == bool(reason), join


@pytest.mark.parametrize(
    ("scheme", "options", "setting", "route"),
    [
        ("parquet", {}, AUTO, COLUMNAR),
        ("parquet", {"mergeSchema": "true"}, AUTO, CATALYST),
        ("csv", {}, AUTO, COLUMNAR),
        ("csv", {"header": "True", "sep": "|"}, AUTO, COLUMNAR),
        ("csv", {"sep": "\t"}, AUTO, CATALYST),
        ("json", {}, AUTO, CATALYST),
        ("generate", {"rate": "10"}, AUTO, COLUMNAR),
        ("replay", {"speed": "2"}, AUTO, COLUMNAR),
        ("replay", {"format": "csv"}, AUTO, CATALYST),
        ("parquet", {}, "catalyst", CATALYST),
        ("csv", {}, "catalyst", CATALYST),
    ],
)
def test_plans_and_ticks_agree_on_the_route_of_a_source(
    scheme: str, options: dict[str, str], setting: str, route: str
) -> None:
    stream = replace(STREAM, source=Address(scheme, "in", tuple(options.items())))
    feeds = one_feed(plan_of(0, PLAIN))
    assert planned_route(stream, setting) == route
    assert (hindrance(stream, feeds, setting) == "") == (route == COLUMNAR)
    division = divide_feeds(stream, feeds, setting)
    assert (division.by_arrays == feeds) == (route == COLUMNAR)
    assert (division.by_catalyst == feeds) == (route == CATALYST)


def test_stamps_and_odd_columns_of_text_are_left_to_catalyst() -> None:
    stamped = replace(STREAM, stamped_on_arrival=True)
    assert hindrance(stamped, (), AUTO) == ""
    lines = replace(stamped, source=Address("csv", "in"))
    assert hindrance(lines, (), AUTO) == "rows are stamped on arrival"
    column = replace(STREAM.columns[1], type=BINARY)
    binary = replace(STREAM, columns=(STREAM.columns[0], column), source=Address("csv", "in"))
    assert hindrance(binary, (), AUTO) == "column k is BINARY"
    assert planned_route(binary, AUTO) == CATALYST


def test_an_odd_query_keeps_just_its_own_scan_from_arrays() -> None:
    plain, odd = one_feed(plan_of(0, PLAIN)), one_feed(plan_of(1, ODD))
    division = divide_feeds(STREAM, (*plain, *odd), AUTO)
    assert (division.by_arrays, division.by_catalyst) == (plain, odd)
