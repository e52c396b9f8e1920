"""Joins of tables: how names resolve, what a condition comes to, and which joins are one.

The last test asks Spark: the same SELECT over the same rows, with Spark's own names and joins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemill.aggregates.functions import BUILT_IN
from tidemill.catalog import Catalog
from tidemill.errors import TidemillError
from tidemill.explain.plan import explain_plan
from tidemill.language import parse_script
from tidemill.language.names import quote_name
from tidemill.language.statements import CreateQuery, CreateStream, CreateTable, RunSelect
from tidemill.plan.bind.binder import bind_query
from tidemill.plan.bind.clauses import TypeOracle
from tidemill.plan.bind.environment import Environment
from tidemill.plan.expressions import TableColumn
from tidemill.plan.joins import Join, TableExtent
from tidemill.plan.query import QueryPlan
from tidemill.types import BOOLEAN, STRING, Type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BASE = """
CREATE STREAM packets (ts TIMESTAMP, src STRING, dst STRING, port INT, length BIGINT)
  ORDER BY ts SOURCE 'parquet:data';
CREATE TABLE whois (prefix STRING, owner STRING, port INT, `two words` BIGINT) SOURCE 'csv:w';
CREATE TABLE lands (owner STRING, land STRING) SOURCE 'csv:l';
"""
WINDOW = "FROM packets [RANGE 2 SECONDS SLIDE 1 SECOND]"


def _catalog() -> Catalog:
    catalog = Catalog()
    for statement in parse_script(BASE):
        assert isinstance(statement, CreateStream | CreateTable)
        catalog = catalog.apply(statement)
    return catalog


CATALOG = _catalog()
UNREAD = TableExtent("", multiplies=True)


def text_or_truth(sql: str, _columns: Mapping[str, Type]) -> Type:
    """Enough of Spark for the functions below."""
    return BOOLEAN if " LIKE " in sql else STRING


def bound(text: str, oracle: TypeOracle = text_or_truth, extent: TableExtent = UNREAD) -> QueryPlan:
    (statement,) = parse_script(text)
    assert isinstance(statement, RunSelect)
    query = CreateQuery("q", None, statement.select)
    plan = bind_query(query, CATALOG, Environment(BUILT_IN, oracle, lambda *_: extent))
    assert isinstance(plan, QueryPlan)
    return plan


def joins_of(clauses: str, alias: str = "") -> tuple[Join, ...]:
    return bound(f"SELECT COUNT(*) {WINDOW} {alias} {clauses}").relation.joins


def the_join(clauses: str, alias: str = "") -> Join:
    (join,) = joins_of(clauses, alias)
    return join


def test_a_join_taken_apart():
    join = the_join("JOIN whois w ON w.port > 3 AND LOWER(w.prefix) = src AND (length = w.port)")
    (length, port), (src, prefix) = join.equal
    assert (join.table, join.kind, join.alias) == ("whois", "inner", "w")
    assert (length.sql, port.sql) == ("length", f"{join.name}_port")
    assert (src.sql, prefix.sql) == ("src", f"LOWER({join.name}_prefix)")
    assert (src.columns, src.joined) == (("src",), ())
    assert (prefix.columns, prefix.joined) == ((), (TableColumn(join.name, "prefix"),))
    assert join.residual is not None
    assert join.residual.sql == f"{join.name}_port > 3"
    assert join.sql == (
        f"length = {join.name}_port AND src = LOWER({join.name}_prefix) AND {join.name}_port > 3"
    )


ONE_JOIN = [
    "JOIN whois ON src = prefix AND packets.port = whois.port AND (owner = 'a' OR dst IS NULL)",
    "INNER JOIN Whois ON (owner = 'a' OR dst IS NULL) AND whois.port = packets.port AND prefix=src",
    "JOIN whois AS w ON (w.prefix = SRC AND (packets.port = w.port)) AND "
    "(w.owner = 'a' OR packets.dst IS NULL) AND w.prefix = src",
]


def test_order_sides_case_and_alias_are_no_part_of_a_join():
    assert len({the_join(clauses) for clauses in ONE_JOIN}) == 1
    assert the_join("JOIN whois v ON v.prefix = p.src", "AS p") == the_join(
        "JOIN whois ON src = prefix"
    )
    assert the_join("JOIN whois USING (port)") == the_join("JOIN whois w ON p.port = w.port", "p")


CONJUNCTS = [
    ("p.src", "=", "w.prefix"),
    ("w.port", "=", "p.port + 1"),
    ("w.`two words`", "=", "length"),
    ("w.owner", "<>", "'x'"),
    ("p.dst", "<>", "p.src"),
]


@given(st.permutations(CONJUNCTS), st.lists(st.booleans(), min_size=5, max_size=5))
def test_a_condition_in_any_order_and_orientation_is_one_join(conjuncts, turned):
    terms = [
        f"{right} {sign} {left}" if turn and sign == "=" else f"{left} {sign} {right}"
        for (left, sign, right), turn in zip(conjuncts, turned, strict=True)
    ]
    join = the_join(f"JOIN whois w ON {' AND '.join(terms)}", "AS p")
    assert len(join.equal) == 3
    assert join == the_join(f"JOIN whois w ON {' AND '.join(map(' '.join, CONJUNCTS))}", "AS p")


def test_what_makes_joins_differ():
    joins = [
        the_join("JOIN whois ON src = prefix"),
        the_join("JOIN whois ON dst = prefix"),
        the_join("JOIN whois ON src = prefix AND owner = 'a'"),
        the_join("JOIN lands ON src = owner"),
    ]
    assert len({join.name for join in joins}) == len(set(joins)) == 4


def test_an_inner_join_is_a_left_one_whose_rows_must_have_a_partner():
    text = f"SELECT COUNT(*) {WINDOW} {{}} JOIN whois ON src = prefix WHERE dst = 'a'"
    left, inner = bound(text.format("LEFT")), bound(text.format("INNER"))
    assert left.relation.joins == inner.relation.joins
    assert left.predicate.sql == "dst = 'a'"
    assert inner.predicate.sql == f"{inner.relation.joins[0].name} AND dst = 'a'"
    assert left.predicate.contains(inner.predicate)


def test_joins_that_do_not_build_on_each_other_may_change_places():
    one, two = "JOIN whois w ON w.prefix = src", "LEFT JOIN lands l ON l.owner = dst"
    assert joins_of(f"{one} {two}") == joins_of(f"{two} {one}")


def test_a_join_that_builds_on_another_comes_after_it():
    whois, lands = joins_of("JOIN whois w ON w.prefix = src JOIN lands l ON l.owner = w.owner")
    assert (whois.table, lands.table) == ("whois", "lands")
    assert lands.equal[0][0].joined == (TableColumn(whois.name, "owner"),)


def test_a_table_joined_twice_in_one_way_is_two_joins():
    joins = joins_of("JOIN whois a ON a.prefix = src JOIN whois b ON b.prefix = src")
    assert len({join.name for join in joins}) == 2
    assert [join.sql.replace(join.name, "") for join in joins] == ["src = _prefix"] * 2


def columns_of(plan: QueryPlan, join: Join) -> tuple[TableColumn, ...]:
    """What one of its tables must give for the query, joins included."""
    scalars = [*(scalar for each in plan.relation.joins for scalar in each.scalars), *plan.scalars]
    joined = (column for scalar in scalars for column in scalar.joined)
    return tuple(dict.fromkeys(column for column in joined if column.join == join.name))


def test_scalars_mean_the_same_whatever_the_alias():
    text = "SELECT {0}.owner, SUM({0}.`two words`) {1} {2} JOIN whois {0} ON {0}.prefix = src "
    text += "WHERE {0}.owner > dst GROUP BY {0}.owner"
    one, two = (bound(text.format(*words)) for words in (("w", WINDOW, "AS p"), ("v", WINDOW, "")))
    assert one.scalars == two.scalars
    (join,) = one.relation.joins
    assert one.where is not None
    assert one.where.columns == ("dst",)
    assert one.where.joined == (TableColumn(join.name, "owner"),)
    assert {column.column for column in columns_of(one, join)} == {"prefix", "owner", "two words"}


def test_a_name_that_only_the_table_has_needs_no_qualifier():
    plan = bound(f"SELECT owner, COUNT(*) AS n {WINDOW} JOIN whois ON src = prefix GROUP BY owner")
    assert plan.keys[0].scalar.sql == f"{plan.relation.joins[0].name}_owner"
    assert [output.name for output in plan.outputs] == ["owner", "n"]


def test_a_column_goes_before_an_alias_in_group_by_with_tables_too():
    plan = bound(f"SELECT src AS owner {WINDOW} JOIN whois ON src = prefix GROUP BY owner, src")
    assert [key.scalar.sql for key in plan.keys] == [f"{plan.relation.joins[0].name}_owner", "src"]


def test_columns_merged_by_using_are_the_first_ones():
    plan = bound(f"SELECT port {WINDOW} LEFT JOIN whois w USING (port) GROUP BY port, w.port")
    assert [key.scalar.sql for key in plan.keys] == ["port", f"{plan.relation.joins[0].name}_port"]


def test_explain_says_it_in_the_words_of_the_query():
    plan = bound(
        f"SELECT w.owner, MAX(w.`two words`) AS m {WINDOW} p LEFT JOIN whois w ON w.prefix = p.src "
        "AND w.port > 3 WHERE w.owner = 'x' GROUP BY w.owner"
    )
    on = "src = w.prefix AND w.port > 3"
    assert explain_plan(plan).splitlines()[1:7] == [
        f"  from       left join whois AS w ON {on}   (Catalyst, broadcast)",
        "               stream packets",
        "  window     [RANGE 2 SECONDS SLIDE 1 SECOND]",
        "  where      w.owner = 'x'   (Catalyst, per row)",
        "  group by   _k0 STRING = w.owner   (Catalyst, per row)",
        "  aggregate  _a0 BIGINT = MAX(`w.two words`)",
    ]


@pytest.mark.parametrize(
    ("clauses", "code", "words"),
    [
        ("JOIN whois w ON w.prefix > src", "E_NOT_BUILT", "JOIN without an equality"),
        ("JOIN whois w ON w.prefix = 'a'", "E_NOT_BUILT", "JOIN without an equality"),
        ("JOIN whois w ON src = dst", "E_NOT_BUILT", "JOIN without an equality"),
        ("JOIN whois w ON w.prefix", "E_TYPE", "ON is STRING"),
        ("JOIN whois w ON w.prefix = packets.port", "E_TYPE", "port is INT and w.prefix is STRING"),
        ("JOIN whois w ON w.prefix = src AND w.owner LIKE dst || 'x'", "E_NOT_BUILT", "guard"),
        ("JOIN whois w ON MAX(w.prefix) = src", "E_AGGREGATE_IN_ON", "MAX"),
        ("JOIN whois w ON w.prefix = UUID()", "E_NOT_DETERMINISTIC", "UUID"),
        (
            "JOIN whois ON port = 1 AND src = prefix",
            "E_AMBIGUOUS",
            "stream packets and table whois",
        ),
        ("JOIN whois w ON src = w.prefx", "E_UNKNOWN_COLUMN", "'prefx' in table whois"),
        ("JOIN whois w ON src = whois.prefix", "E_UNKNOWN_COLUMN", "no column 'whois'"),
        ("JOIN whois ON src = l.owner JOIN lands l ON l.owner = src", "E_UNKNOWN_COLUMN", "'l'"),
        ("JOIN whois USING (prefix)", "E_UNKNOWN_COLUMN", "'prefix' in stream packets"),
        ("JOIN whois USING (src)", "E_UNKNOWN_COLUMN", "'src' in table whois"),
        ("JOIN whois packets ON src = prefix", "E_DUPLICATE", "two parts of FROM"),
        ("JOIN who ON src = prefix", "E_UNKNOWN_TABLE", "no table 'who'"),
        ("JOIN packets p ON p.src = p.dst", "E_WINDOW", "no window here"),
    ],
)
def test_refusal(clauses, code, words):
    text = f"SELECT COUNT(*) {WINDOW} {clauses}"
    with pytest.raises(TidemillError, match=words) as caught:
        bound(text)
    problem = caught.value.problem
    assert problem.code == code
    assert problem.place is not None
    assert problem.place.start >= text.index("JOIN")


def test_refusals_name_columns_as_the_query_does():
    with pytest.raises(TidemillError, match=r"column 'w.owner' is neither grouped") as caught:
        bound(f"SELECT w.owner {WINDOW} JOIN whois w ON src = prefix GROUP BY prefix")
    assert caught.value.problem.detail == "grouped by: w.prefix"
    assert "_whois" not in caught.value.problem.render()


def test_both_sides_of_an_equality_may_need_a_guard():
    join = the_join("JOIN whois w ON REGEXP_EXTRACT(src, 'a') = w.prefix")
    assert [side.guarded for side in join.equal[0]] == [True, False]


SELECTS = [
    "w.owner, COUNT(*), SUM(length) FROM packets p JOIN whois w ON p.src = w.prefix "
    "GROUP BY w.owner",
    "owner, MAX(`two words`), COUNT(prefix) FROM packets p LEFT JOIN whois w ON src = prefix "
    "AND w.port = p.port GROUP BY owner",
    "COUNT(*), SUM(w.port - p.port) FROM packets p JOIN whois w ON w.prefix = src "
    "AND w.port <= p.port",
    "p.src, COUNT(land), COUNT(*) FROM packets p LEFT JOIN whois w ON src = prefix "
    "LEFT JOIN lands l ON l.owner = w.owner WHERE p.port IS NOT NULL GROUP BY p.src",
    "a.owner, b.owner AS other, COUNT(*) FROM packets p JOIN whois a ON a.prefix = src "
    "LEFT JOIN whois b ON b.prefix = dst GROUP BY a.owner, b.owner",
    "port, COUNT(w.port), COUNT(*) FROM packets p LEFT JOIN whois w USING (port) GROUP BY port",
    "COUNT(*), COUNT(a.owner) FROM packets p JOIN whois a ON a.prefix = src "
    "JOIN whois b ON b.prefix = src",
    "land, COUNT(*) FROM packets p JOIN whois w ON LOWER(src) = prefix JOIN lands USING (owner) "
    "WHERE owner <> 'x' GROUP BY land",
]
ROWS = {
    "packets": (
        "src STRING, dst STRING, port INT, length BIGINT",
        [
            *(("a", "b", 1, 10), ("a", "c", 2, 20), ("b", "a", 2, 5), ("z", "a", 3, 7)),
            *((None, "b", None, 1), ("A", None, 2, 3)),
        ],
    ),
    "whois": (
        "prefix STRING, owner STRING, port INT, `two words` BIGINT",
        [("a", "x", 1, 7), ("a", "y", 2, 8), ("b", "x", 2, 9), (None, "n", None, 1)],
    ),
    "lands": ("owner STRING, land STRING", [("x", "nl"), ("y", "de"), ("x", "be")]),
}


def assembled(plan: QueryPlan) -> str:
    """The plan over the names it gives to columns, in the plainest SQL."""
    relation = "packets"
    for join in plan.relation.joins:
        columns = columns_of(plan, join)
        items = ", ".join(f"{quote_name(c.column)} AS {quote_name(c.name)}" for c in columns)
        conditions = [f"{left.try_sql} = {right.try_sql}" for left, right in join.equal]
        conditions += [join.residual.try_sql] if join.residual else []
        table = f"(SELECT {items} FROM {join.table})"
        relation += f" {join.kind.upper()} JOIN {table} ON {' AND '.join(conditions)}"
    keys = [key.scalar.try_sql for key in plan.keys]
    calls = [f"{a.function}({a.argument.try_sql if a.argument else '*'})" for a in plan.aggregates]
    where = f" WHERE {plan.where.try_sql}" if plan.where else ""
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join([*keys, *calls])} FROM {relation}{where}{by}"


@pytest.mark.parametrize("text", SELECTS)
def test_a_bound_join_means_what_spark_says(text: str, spark: SparkSession) -> None:
    for name, (schema, rows) in ROWS.items():
        spark.createDataFrame(rows, schema).createOrReplaceTempView(name)

    def answer(sql: str) -> list[tuple[Any, ...]]:
        return sorted((tuple(row) for row in spark.sql(sql).collect()), key=repr)

    plan = bound("SELECT " + text.replace("FROM packets p", f"{WINDOW} p"))
    expected = answer("SELECT " + text)
    assert len(plan.relation.joins) == text.count("JOIN ")
    assert expected
    assert answer(assembled(plan)) == expected
