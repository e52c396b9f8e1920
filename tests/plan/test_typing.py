"""Types of finishing expressions: what is taken over, and with which implicit casts."""

from __future__ import annotations

import pytest

from tidemill.errors import TidemillError
from tidemill.language.expressions.trees import parse_tree
from tidemill.plan.bind.clauses import type_expression
from tidemill.plan.expressions import Literal, Node, Opaque, Slot, is_vectorised
from tidemill.types import BIGINT, DOUBLE, STRING, parse_type

COLUMNS = {
    "t": parse_type("TINYINT"),
    "i": parse_type("INT"),
    "b": BIGINT,
    "f": parse_type("FLOAT"),
    "d": DOUBLE,
    "c": parse_type("DECIMAL(10,2)"),
    "w": parse_type("DECIMAL(38,37)"),
    "x": STRING,
    "day": parse_type("DATE"),
    "at": parse_type("TIMESTAMP"),
    "list": parse_type("ARRAY<INT>"),
}
ORACLE_SAYS = parse_type("BINARY")


def _oracle(_sql, _columns):
    return ORACLE_SAYS


def _typed(sql: str) -> Node:
    return type_expression(parse_tree(sql), COLUMNS, _oracle)


@pytest.mark.parametrize(
    ("sql", "tree", "type"),
    [
        ("t + i", "add(cast(t AS INT), i)", "INT"),
        ("t + t", "add(t, t)", "TINYINT"),
        ("b / i", "div(cast(b AS DOUBLE), cast(i AS DOUBLE))", "DOUBLE"),
        ("f / f", "div(cast(f AS DOUBLE), cast(f AS DOUBLE))", "DOUBLE"),
        ("f + f", "add(f, f)", "FLOAT"),
        ("f + t", "add(cast(f AS DOUBLE), cast(t AS DOUBLE))", "DOUBLE"),
        ("c + 1", "add(c, cast(1 AS DECIMAL(1,0)))", "DECIMAL(11,2)"),
        ("c + i", "add(c, cast(i AS DECIMAL(10,0)))", "DECIMAL(13,2)"),
        ("c * d", "mul(cast(c AS DOUBLE), d)", "DOUBLE"),
        ("i DIV t", "whole_div(cast(i AS BIGINT), cast(t AS BIGINT))", "BIGINT"),
        (
            "b > 1.5",
            "gt(cast(b AS DECIMAL(21,1)), cast(Decimal('1.5') AS DECIMAL(21,1)))",
            "BOOLEAN",
        ),
        ("COALESCE(i, 1.5)", None, "DECIMAL(11,1)"),
        ("IF(b > 0, i, NULL)", "case(gt(b, cast(0 AS BIGINT)), i, NULL)", "INT"),
        ("NULLIF(i, b)", "case(eq(cast(i AS BIGINT), b), NULL, i)", "INT"),
        ("CASE i WHEN 1 THEN b END", "case(eq(i, 1), b)", "BIGINT"),
        ("i BETWEEN 1 AND b", "and(ge(i, 1), le(cast(i AS BIGINT), b))", "BOOLEAN"),
        ("x NOT IN ('a', NULL)", "not(in(x, 'a', NULL))", "BOOLEAN"),
        ("ROUND(c, 1)", "round(c, 1)", "DECIMAL(10,1)"),
        ("ROUND(c, -5)", "round(c, -5)", "DECIMAL(9,0)"),
        ("TRY_CAST(b AS INT)", "try_cast(b AS INT)", "INT"),
        ("CAST(NULL AS INT)", "NULL", "INT"),
        ("(i)", "i", "INT"),
        ("I IS NOT NULL", "not(is_null(i))", "BOOLEAN"),
    ],
)
def test_implicit_casts_are_visible(sql, tree, type):
    node = _typed(sql)
    assert node.type == parse_type(type)
    assert tree is None or str(node) == tree


@pytest.mark.parametrize(
    "sql",
    [
        "UPPER(x)",
        "i + x",
        "x = 1",
        "CAST(x AS INT)",
        "CAST(d AS STRING)",
        "CAST(d AS DECIMAL(10,2))",
        "CAST(c AS FLOAT)",
        "CAST(b AS FLOAT)",
        "day < at",
        "w = b",
        "-w",
        "ROUND(d, -2)",
        "ROUND(d, i)",
        "i IN (b, 1)",
        "list[0]",
        "NULL",
        "NULL + 1",
        "NOT i",
        "CASE WHEN i THEN 1 END",
        "1 + LENGTH(x)",
    ],
)
def test_the_rest_goes_to_spark_whole(sql):
    node = _typed(sql)
    assert isinstance(node, Opaque)
    assert node.type == ORACLE_SAYS
    assert not is_vectorised(node)


@pytest.mark.parametrize("sql", ["list", "(list)"])
def test_a_nested_column_by_itself_is_known(sql):
    assert _typed(sql) == Slot("list", parse_type("ARRAY<INT>"))


def test_an_opaque_expression_carries_its_try_form():
    node = _typed("UPPER(x) || CAST(i / b AS STRING)")
    assert isinstance(node, Opaque)
    assert node.sql == "UPPER(x) || TRY_CAST(TRY_DIVIDE(i, b) AS STRING)"
    assert node.type == ORACLE_SAYS
    assert "(TRY_DIVIDE(i, b)) IS NULL AND (i) IS NOT NULL" in node.raised_sql


@pytest.mark.parametrize(
    ("sql", "type"),
    [
        ("1", "INT"),
        ("-2147483648", "INT"),
        ("2147483648", "BIGINT"),
        ("-9223372036854775808", "BIGINT"),
        ("9223372036854775808", "DECIMAL(19,0)"),
        ("0.05", "DECIMAL(2,2)"),
        ("1.50", "DECIMAL(3,2)"),
        ("1e3", "DOUBLE"),
        ("'1'", "STRING"),
        ("DATE '2020-01-01'", "DATE"),
        ("TIMESTAMP '2020-01-01 10:00:00.5'", "TIMESTAMP"),
    ],
)
def test_literals_have_sparks_types(sql, type):
    node = _typed(sql)
    assert isinstance(node, Literal)
    assert node.type == parse_type(type)


@pytest.mark.parametrize("sql", ["DATE '2020-02-30'", "TIMESTAMP '2020-01-01'"])
def test_text_that_is_not_surely_a_moment_is_left_to_spark(sql):
    assert isinstance(_typed(sql), Opaque)


def test_names_are_found_in_any_case_and_keep_their_own():
    assert type_expression(parse_tree("total"), {"Total": BIGINT}, _oracle) == Slot("Total", BIGINT)


def test_an_unknown_column_is_refused_with_a_guess():
    with pytest.raises(TidemillError) as refusal:
        type_expression(parse_tree("totl + 1"), {"total": BIGINT}, _oracle)
    assert refusal.value.code == "E_UNKNOWN_COLUMN"
    assert refusal.value.problem.hint == "did you mean 'total'?"


def test_what_the_oracle_refuses_is_refused():
    def refusing(_sql, _columns):
        raise TidemillError(problem)

    with pytest.raises(TidemillError) as known:
        type_expression(parse_tree("nothing"), {}, _oracle)
    problem = known.value.problem
    with pytest.raises(TidemillError):
        type_expression(parse_tree("x + x"), COLUMNS, refusing)
