"""Joins of windows as plans: keys, conditions, parts and places of each side, and instants."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.test_derived_streams import ENVIRONMENT, catalog_of
from tidemill.catalog import Table
from tidemill.errors import Place, TidemillError
from tidemill.language import parse_script, render
from tidemill.language.statements import CreateQuery
from tidemill.plan.bind.binder import bind_query
from tidemill.plan.joins import JoinTerms, TableExtent
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import JoinedWindows
from tidemill.plan.window_join import Among, Guard, JoinTerm, RowClass, SidePlace, WindowJoin

SCRIPT = """
CREATE STREAM flows (ts TIMESTAMP, src STRING, dst STRING, port INT, length BIGINT)
  ORDER BY ts SOURCE 'parquet:a';
CREATE STREAM dns (at TIMESTAMP, client STRING, ttl INT, rcode BIGINT, port BIGINT)
  ORDER BY at SOURCE 'parquet:b' WITH (update = '2 seconds');
CREATE STREAM weird (ts TIMESTAMP, host STRING, n INT, share DOUBLE) ORDER BY ts SOURCE 'csv:c';
CREATE TABLE whois (prefix STRING, owner STRING) SOURCE 'csv:whois.csv';
CREATE STREAM big AS SELECT ts, src, length * 8 AS bits FROM flows WHERE length > 10;
CREATE STREAM both AS SELECT ts, src, length FROM flows
  UNION ALL SELECT at, client, ttl FROM dns WHERE rcode > 0;
"""
CATALOG = catalog_of(SCRIPT)
FLOWS = "FROM flows [RANGE 1 MINUTE SLIDE 10 SECONDS] AS f"
DNS = "dns [RANGE 35 SECONDS] AS d"
ALL = RowClass()


def with_tables(_terms: JoinTerms, _table: Table, _place: Place | None) -> TableExtent:
    return TableExtent("whois.parquet", multiplies=False)


def plan_of(select: str) -> QueryPlan:
    (query,) = parse_script(f"CREATE QUERY q AS {select}")
    assert isinstance(query, CreateQuery)
    assert parse_script(render(query)) == (query,)
    plan = bind_query(query, CATALOG, replace(ENVIRONMENT, extent_of=with_tables))
    assert isinstance(plan, QueryPlan)
    return plan


def join_of(select: str) -> WindowJoin:
    join = plan_of(select).join
    assert join is not None
    return join


def texts(plan: QueryPlan) -> list[tuple[str | None, list[str], list[str]]]:
    """What the parts say: condition, keys, aggregates."""
    return [
        (
            part.where.sql if part.where else None,
            [key.scalar.sql for key in part.keys],
            [call.sql for call in part.aggregates],
        )
        for part in plan.parts
    ]


def refused(select: str) -> TidemillError:
    with pytest.raises(TidemillError) as caught:
        plan_of(select)
    return caught.value


def test_each_part_is_what_a_query_over_one_stream_says():
    plan = plan_of(
        f"""SELECT f.src, COUNT(*) AS n, SUM(f.length) AS bytes, MAX(d.ttl) AS ttl {FLOWS}
        JOIN {DNS} ON f.src = d.client WHERE f.port = 53 AND d.rcode = 3
        GROUP BY f.src HAVING COUNT(*) > 10 ORDER BY n DESC LIMIT 20"""
    )
    assert texts(plan) == [
        ("port = 53", ["src"], ["SUM(length)"]),
        ("rcode = 3", ["client"], ["MAX(ttl)"]),
    ]
    alone = plan_of(
        """SELECT src, SUM(length) AS bytes FROM flows [RANGE 1 MINUTE SLIDE 10 SECONDS]
        WHERE port = 53 GROUP BY src"""
    )
    part = plan.parts[0]
    assert (part.relation, part.predicate, part.window) == (
        *(alone.relation, alone.predicate, alone.window),
    )
    assert (part.keys, part.aggregates) == (alone.keys, alone.aggregates)
    assert (part.name, part.owner, part.outputs, part.limit) == ("q ⋈1", "q", (), None)
    assert plan.join is not None
    assert plan.join.groups == ((SidePlace(0, 0),),)
    assert plan.join.calls == (None, SidePlace(0, 0), SidePlace(1, 0))
    assert plan.join.terms == (JoinTerm((ALL, ALL)),)
    assert isinstance(plan.relation, JoinedWindows)
    assert plan.relation.stream_names == ("flows", "dns")


def test_all_windows_end_at_the_instants():
    plan = plan_of(f"SELECT COUNT(*) AS n {FLOWS} JOIN {DNS} ON f.src = d.client")
    windows = [part.window for part in plan.parts]
    assert [(w.range_us, w.slide_us, w.start_us) for w in windows] == [
        (60_000_000, 10_000_000, 0),
        (35_000_000, 10_000_000, 5_000_000),
    ]
    assert plan.window == windows[0]


def test_the_window_with_slide_need_not_be_the_first_nor_the_longest():
    plan = plan_of(
        """SELECT COUNT(*) AS n FROM flows [RANGE 1 MINUTE] AS f
        JOIN dns [RANGE 4 SECONDS SLIDE 3 SECONDS START 2 SECONDS] AS d ON f.src = d.client
        WHERE EXISTS (SELECT 1 FROM weird [RANGE 5 MINUTES] WHERE host = f.src)"""
    )
    assert [part.window.start_us // 1_000_000 for part in plan.parts] == [0, 2, 0]
    # The window inside EXISTS is longer and says nothing of the start of an answer.
    assert (plan.window.range_us, plan.window.start_us) == (60_000_000, 0)
    assert {(p.window.start_us + p.window.range_us) % 3_000_000 for p in plan.parts} == {0}


def test_windows_that_say_slide_may_agree():
    start = "START 5 SECONDS"
    plan = plan_of(
        f"""SELECT COUNT(*) AS n {FLOWS}
        JOIN dns [RANGE 35 SECONDS SLIDE 10 SECONDS {start}] AS d ON f.src = d.client"""
    )
    assert [part.window.start_us for part in plan.parts] == [0, 5_000_000]


def test_without_slide_windows_end_at_the_updates_that_all_streams_have():
    plan = plan_of(
        "SELECT COUNT(*) AS n FROM flows [RANGE 9 s] AS f, dns [RANGE 7 s] AS d WHERE src = client"
    )
    assert plan.is_soft
    assert {part.window.update_us for part in (plan, *plan.parts)} == {2_000_000}
    assert [part.window.range_us for part in plan.parts] == [9_000_000, 7_000_000]


def test_one_key_is_put_together_from_equalities_wherever_they_stand():
    plan = plan_of(
        f"""SELECT COUNT(*) AS n {FLOWS}, {DNS}, flows [RANGE 1 s] AS g
        WHERE d.client = g.dst AND f.port + 1 = d.port AND g.dst = f.src AND g.port = d.port"""
    )
    assert [keys for _, keys, _ in texts(plan)] == [
        *(["src", "port + 1"], ["client", "port"], ["dst", "port"]),
    ]
    assert plan.join is not None
    assert [str(kind) for kind in plan.join.key] == ["STRING", "BIGINT"]


def test_a_second_expression_of_one_side_is_a_condition_on_it():
    plan = plan_of(
        f"SELECT COUNT(*) AS n {FLOWS} JOIN {DNS} ON f.src = d.client AND f.dst = d.client"
    )
    assert texts(plan)[0] == ("dst = src", ["src"], [])
    plan = plan_of(
        f"SELECT COUNT(*) AS n {FLOWS} LEFT JOIN {DNS} ON f.src = d.client AND f.dst = d.client"
    )
    # RowClass with others stay, without a partner.
    assert texts(plan)[0] == (None, ["src", "dst = src <=> TRUE"], [])


def test_on_and_where_differ_for_a_left_join():
    plan = plan_of(
        f"""SELECT COUNT(*) AS n {FLOWS} LEFT JOIN {DNS}
        ON f.src = d.client AND f.port = 53 AND d.ttl > 60
        WHERE f.length > 9 AND (d.rcode = 0 OR d.rcode IS NULL)"""
    )
    assert texts(plan) == [
        ("length > 9", ["src", "port = 53 <=> TRUE"], []),
        ("ttl > 60", ["client", "(rcode = 0 OR rcode IS NULL) <=> TRUE"], []),
    ]
    assert plan.join is not None
    assert plan.join.terms == (
        JoinTerm((RowClass((True,)), RowClass((True,)))),
        JoinTerm((RowClass((True,)), None), (Guard(1, RowClass((None,)), exists=False),)),
        JoinTerm((RowClass((False,)), None)),
    )


def test_where_that_no_null_passes_makes_a_left_join_an_inner_one():
    plan = plan_of(f"SELECT COUNT(*) AS n {FLOWS} LEFT JOIN {DNS} ON src = client WHERE ttl > 3")
    assert plan.join is not None
    assert plan.join.terms == (JoinTerm((ALL, ALL)),)
    assert texts(plan)[1] == ("ttl > 3", ["client"], [])


def test_rows_without_a_partner_alone_need_no_flag():
    join = join_of(
        f"SELECT COUNT(*) AS n {FLOWS} LEFT JOIN {DNS} ON src = client WHERE client IS NULL"
    )
    assert join.terms == (JoinTerm((ALL, None), (Guard(1, ALL, exists=False),)),)
    assert [side.flags for side in join.sides] == [0, 0]


@pytest.mark.parametrize(
    ("kind", "terms"),
    [
        ("JOIN", (JoinTerm((ALL, ALL)),)),
        (
            "RIGHT JOIN",
            (JoinTerm((ALL, ALL)), JoinTerm((None, ALL), (Guard(0, ALL, exists=False),))),
        ),
        (
            "FULL JOIN",
            (
                JoinTerm((ALL, ALL)),
                JoinTerm((ALL, None), (Guard(1, ALL, exists=False),)),
                JoinTerm((None, ALL), (Guard(0, ALL, exists=False),)),
            ),
        ),
        ("LEFT SEMI JOIN", (JoinTerm((ALL, None), (Guard(1, ALL, exists=True),)),)),
        ("LEFT ANTI JOIN", (JoinTerm((ALL, None), (Guard(1, ALL, exists=False),)),)),
    ],
)
def test_each_kind_of_join_has_its_terms(kind: str, terms: tuple[JoinTerm, ...]):
    join = join_of(f"SELECT COUNT(*) AS n {FLOWS} {kind} {DNS} ON f.src = d.client")
    assert join.terms == terms


def test_exists_and_in_look_at_sides_behind_those_of_from():
    join = join_of(
        f"""SELECT COUNT(*) AS n {FLOWS} JOIN {DNS} ON src = client WHERE
        NOT EXISTS (SELECT * FROM weird [RANGE 1 s] WHERE host = src AND n > 2)
        AND f.src IN (SELECT dst FROM flows [RANGE 2 s])"""
    )
    assert [side.name for side in join.sides] == ["f", "d", "weird", "flows"]
    guards = (Guard(2, ALL, exists=False), Guard(3, ALL, exists=True))
    assert join.terms == (JoinTerm((ALL, ALL, None, None), guards),)


def test_not_in_is_what_sql_has_with_nulls():
    plan = plan_of(
        f"SELECT COUNT(*) AS n {FLOWS} WHERE src NOT IN (SELECT client FROM dns [RANGE 1 s])"
    )
    assert plan.join is not None
    assert plan.join.terms == (
        JoinTerm((ALL, None), (Guard(1, ALL, exists=False, among=Among.WINDOW),)),
        JoinTerm(
            (ALL, None),
            (
                Guard(1, ALL, exists=True, among=Among.WINDOW),
                Guard(0, ALL, exists=True),
                Guard(1, ALL, exists=False, among=Among.NULL_KEYS),
                Guard(1, ALL, exists=False),
            ),
        ),
    )
    assert texts(plan)[0][1] == ["src"]


def test_names_in_a_subquery_are_its_own_first():
    plan = plan_of(
        f"""SELECT COUNT(*) AS n {FLOWS}
        WHERE EXISTS (SELECT 1 FROM flows [RANGE 1 s] WHERE src = f.src AND port > 5)"""
    )
    assert texts(plan) == [(None, ["src"], []), ("port > 5", ["src"], [])]


def test_the_same_stream_may_stand_on_both_sides():
    plan = plan_of(
        f"SELECT COUNT(*) AS n {FLOWS}, flows [RANGE 1 s] AS g WHERE f.src = g.dst AND g.port = 1"
    )
    assert texts(plan) == [(None, ["src"], []), ("port = 1", ["dst"], [])]
    assert plan.relation.stream_names == ("flows",)


def test_groups_of_both_sides_and_of_none():
    plan = plan_of(
        f"""SELECT d.rcode, f.port, d.client, 'x' AS x, COUNT(d.ttl) AS n {FLOWS}
        JOIN {DNS} ON src = client GROUP BY d.rcode, f.port, d.client, 'x'"""
    )
    assert plan.join is not None
    assert plan.join.groups == (
        *((SidePlace(1, 1),), (SidePlace(0, 1),), (SidePlace(1, 0),)),
        (SidePlace(0, 2), SidePlace(1, 2)),
    )
    assert plan.join.calls == (SidePlace(1, 0),)


def test_using_means_the_column_of_the_side_that_has_it():
    text = "SELECT src, COUNT(*) AS n {} {} big [RANGE 1 s] AS b USING (src) GROUP BY src"
    groups = [join_of(text.format(FLOWS, f"{kind}JOIN")).groups for kind in ("", "RIGHT ", "FULL ")]
    assert groups == [
        ((SidePlace(0, 0),),),
        ((SidePlace(1, 0),),),
        ((SidePlace(0, 0), SidePlace(1, 0)),),
    ]


def test_keys_are_widened_and_parts_keep_them_as_they_are():
    plan = plan_of(f"SELECT f.port, COUNT(*) AS n {FLOWS} JOIN {DNS} USING (port) GROUP BY f.port")
    assert plan.join is not None
    assert [str(kind) for kind in plan.join.key] == ["BIGINT"]
    assert [str(part.keys[0].slot.type) for part in plan.parts] == ["INT", "BIGINT"]
    assert str(plan.keys[0].slot.type) == "INT"


def test_a_union_has_a_part_for_each_branch_and_a_stream_its_condition():
    plan = plan_of(
        """SELECT b.src, SUM(b.length) AS s, SUM(bits) AS bits FROM both [RANGE 9 s SLIDE 3 s] AS b
        JOIN big [RANGE 1 s] AS g USING (src) WHERE b.length > 5 GROUP BY b.src"""
    )
    alone = plan_of(
        "SELECT src, SUM(length) AS s FROM both [RANGE 9 s SLIDE 3 s] WHERE length > 5 GROUP BY src"
    )
    assert plan.join is not None
    assert [side.parts for side in plan.join.sides] == [(0, 1), (2,)]
    assert [part.predicate for part in plan.parts[:2]] == [part.predicate for part in alone.parts]
    assert texts(plan)[:2] == texts(alone)
    assert texts(plan)[2] == ("length > 10", ["src"], ["SUM(length * 8)"])


def test_tables_belong_to_the_stream_that_they_are_compared_with():
    plan = plan_of(
        f"""SELECT w.owner, v.owner AS o, COUNT(*) AS n {FLOWS} JOIN whois AS w ON f.src = w.prefix
        JOIN {DNS} ON f.src = d.client LEFT JOIN whois AS v ON v.prefix = client AND ttl > 3
        WHERE w.owner <> 'me' AND v.owner = 'you' GROUP BY w.owner, v.owner""",
    )
    assert [[join.kind for join in part.relation.joins] for part in plan.parts] == [
        *(["inner"], ["left"]),
    ]
    (first,), (second,) = (part.relation.joins for part in plan.parts)
    assert [keys for _, keys, _ in texts(plan)] == [
        *(["src", f"{first.name}_owner"], ["client", f"{second.name}_owner"]),
    ]
    assert [where for where, _, _ in texts(plan)] == [
        f"{first.name}_owner <> 'me'",
        f"{second.name}_owner = 'you'",
    ]


def test_tables_beside_a_union_are_joined_in_each_branch():
    plan = plan_of(
        f"""SELECT w.owner, COUNT(*) AS n FROM both [RANGE 9 s SLIDE 3 s] AS b
        JOIN whois AS w ON b.src = w.prefix JOIN {DNS} ON b.src = d.client GROUP BY w.owner"""
    )
    joins = [part.relation.joins for part in plan.parts]
    assert [[before.sql for before in join.befores] for (join,) in joins[:2]] == [
        ["src"],
        ["client"],
    ]
    assert [part.keys[1].scalar.sql for part in plan.parts[:2]] == [
        f"{join.name}_owner" for (join,) in joins[:2]
    ]


def test_what_is_set_aside_is_a_stream_as_any_other():
    plan = plan_of(
        f"SELECT COUNT(*) AS n {FLOWS} JOIN flows.late [RANGE 1 s] AS g ON g.src = f.src"
    )
    assert plan.relation.stream_names == ("flows", "flows.late")
    error = refused(f"SELECT COUNT(*) AS n {FLOWS} JOIN flows.late AS g ON g.src = f.src")
    assert error.code == "E_WINDOW"


def test_a_condition_of_both_clauses_is_one_flag_and_constants_are_none():
    plan = plan_of(
        f"""SELECT COUNT(*) AS n {FLOWS} FULL JOIN {DNS} ON src = client AND f.port > 5
        WHERE TRUE AND (f.port > 5 OR f.port IS NULL OR f.port = 0)"""
    )
    flags = ["(port = 0 OR port > 5 OR port IS NULL) <=> TRUE", "port > 5 <=> TRUE"]
    assert texts(plan)[0][1] == ["src", *flags]


def test_refusals_of_keys():
    assert refused(f"SELECT COUNT(*) AS n {FLOWS} JOIN {DNS} ON f.port = d.client").code == "E_TYPE"
    # As BIGINT these differ where they are equal as DOUBLE.
    error = refused(
        f"""SELECT COUNT(*) AS n {FLOWS} JOIN {DNS} ON f.length = d.port
        JOIN weird [RANGE 1 s] AS w ON w.share = d.port"""
    )
    assert error.code == "E_TYPE"
    assert "compared as BIGINT" in error.problem.primary
    # INT does not.
    join_of(
        f"""SELECT COUNT(*) AS n {FLOWS} JOIN weird [RANGE 1 s] AS v ON f.port = v.n
        JOIN weird [RANGE 1 s] AS w ON w.share = f.port"""
    )


def test_an_outer_join_needs_the_key_in_its_own_condition():
    text = f"SELECT COUNT(*) AS n {FLOWS} {{}} {DNS} ON d.ttl > 5 WHERE f.src = d.client"
    join_of(text.format("JOIN"))
    assert refused(text.format("LEFT JOIN")).code == "E_NOT_BUILT"


def test_full_joins_by_using_meet_whichever_side_is_there():
    join = join_of(
        """SELECT src, COUNT(*) AS n FROM flows [RANGE 9 s SLIDE 3 s] AS a
        FULL JOIN big [RANGE 1 s] AS b USING (src) FULL JOIN both [RANGE 1 s] AS c USING (src)
        GROUP BY src"""
    )
    assert join.groups == ((SidePlace(0, 0), SidePlace(1, 0), SidePlace(2, 0)),)
    none = [Guard(side, ALL, exists=False) for side in range(3)]
    assert join.terms == (
        JoinTerm((ALL, ALL, ALL)),
        JoinTerm((ALL, None, ALL), (none[1],)),
        JoinTerm((None, ALL, ALL), (none[0],)),
        JoinTerm((ALL, ALL, None), (none[2],)),
        JoinTerm((ALL, None, None), (none[1], none[2])),
        JoinTerm((None, ALL, None), (none[0], none[2])),
        JoinTerm((None, None, ALL), (none[0], none[1])),
    )


def test_what_is_bound_once_serves_windows_of_any_length_and_refusals_at_their_places():
    text = """SELECT COUNT(*) AS n FROM flows [RANGE {} s SLIDE 3 s] AS f{}
        LEFT JOIN dns [RANGE {} s] AS d ON f.src = d.client WHERE {}"""
    first, second = (plan_of(text.format(9, "", length, "d.ttl > 3")) for length in (4, 5))
    assert [part.window.range_us for part in second.parts] == [9_000_000, 5_000_000]
    assert [part.where for part in first.parts] == [part.where for part in second.parts]
    for gap in ("", "   "):
        condition = "COALESCE(d.ttl, 1) * 2 > 5"
        script = f"CREATE QUERY q AS {text.format(9, gap, 4, condition)}"
        place = refused(text.format(9, gap, 4, condition)).problem.place
        assert place is not None
        assert script[place.start : place.end] == condition
