"""The try_ forms: same type as the plain expression, same values, and no row stops the others."""

from __future__ import annotations

import pytest

from tidemill.language.expressions.trees import parse_tree
from tidemill.plan.try_forms import to_spark_sql
from tidemill.types import INT, parse_type

COLUMNS = {
    "t": "TINYINT",
    "s": "SMALLINT",
    "i": "INT",
    "b": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "c": "DECIMAL(10,2)",
    "w": "DECIMAL(38,10)",
    "x": "STRING",
    "moment": "STRING",
    "url": "STRING",
    "day": "DATE",
    "at": "TIMESTAMP",
    "list": "ARRAY<INT>",
    "pairs": "MAP<STRING,INT>",
    "numbered": "MAP<INT,STRING>",
}
TYPES = {name: parse_type(text) for name, text in COLUMNS.items()}
# A row on which nothing raises, and one on which everything does that can.
GOOD = {
    "t": "1",
    "s": "3",
    "i": "1",
    "b": "5",
    "f": "1.5",
    "d": "2.5",
    "c": "1.25",
    "w": "7",
    "x": "'8'",
    "moment": "'2020-01-01'",
    "url": "'http://a/b'",
    "day": "'2020-01-01'",
    "at": "'2020-01-01 00:00:01'",
    "list": "array(1, 2)",
    "pairs": "map('a', 1)",
    "numbered": "map(1, 'one')",
}
BAD = {
    **GOOD,
    "t": "-128",
    "s": "-32768",
    "i": "-2147483648",
    "b": "-9223372036854775808",
    "d": "0",
    "c": "0",
    "x": "'nothing'",
    "moment": "'nothing'",
    "url": "'% %'",
}
EXPRESSIONS = [
    *("t + t", "i + b", "t - 1", "i * i", "w * w", "c / c", "i / d", "c + w", "b % c", "t % d"),
    *("-t", "-s", "-i", "-b", "-f", "-d", "-c", "-(i + 1)", "-5", "- -5", "NEGATIVE(b)", "-x"),
    *("ABS(t)", "ABS(b)", "ABS(c)", "ABS(f)", "ABS(i - 1)", "f + i"),
    *("i DIV t", "b DIV -1", "t DIV -1", "b DIV (i + i)", "c DIV c", "MOD(i, c)", "PMOD(i, d)"),
    *("CAST(x AS INT)", "x :: DOUBLE", "CAST(b AS TINYINT)", "INT(x)", "DATE(moment)"),
    *("CAST(at AS DATE)", "CAST(d AS DECIMAL(5,2))", "CAST(i AS STRING)", "TIMESTAMP(moment)"),
    *("day + 1", "1 + day", "day - 1", "day - day", "at - at", "at - INTERVAL '1' DAY"),
    *("day + INTERVAL '1' MONTH", "at + INTERVAL '2' HOUR", "INTERVAL '1' DAY * t"),
    *("INTERVAL '1' DAY / c", "-(INTERVAL '1' DAY)", "1 + x", "x * d", "x / i", "DECIMAL(x)"),
    *("list[1]", "list[t]", "list[i]", "pairs['a']", "pairs['z']", "numbered[1]"),
    *("ELEMENT_AT(list, i)", "ELEMENT_AT(pairs, 'z')", "TO_NUMBER(x, '9')", "TO_BINARY(x, 'hex')"),
    *("TO_DATE(moment)", "TO_DATE(moment, 'yyyy-MM-dd')", "TO_TIMESTAMP(moment)"),
    *("TO_TIMESTAMP(moment, 'yyyy-MM-dd')", "MAKE_TIMESTAMP(2020, i, 1, 0, 0, 0)"),
    *("MAKE_TIMESTAMP_NTZ(2020, i, 1, 0, 0, 0)", "PARSE_URL(url, 'HOST')", "URL_DECODE(url)"),
    *("CASE WHEN i / d > 1 THEN t + t ELSE -t END", "COALESCE(i / d, -t)", "i / d > 1 AND x = 'a'"),
    *("UPPER(x) || CAST(-t AS STRING)", "(t + t) * (t - 1) IN (1, t % 2)", "NOT (i + i) IS NULL"),
]


def _frame(spark, row):
    columns = ", ".join(f"CAST({row[name]} AS {type}) {name}" for name, type in COLUMNS.items())
    return spark.sql(f"SELECT {columns}")


@pytest.mark.parametrize("columns", [TYPES, None], ids=["typed", "untyped"])
def test_types_and_values_stay_and_nothing_raises(spark, columns):
    # Without types a map under an integer key cannot be told from an array.
    texts = [text for text in EXPRESSIONS if columns or text != "numbered[1]"]
    forms = [to_spark_sql(parse_tree(text), columns) for text in texts]
    plain = _frame(spark, GOOD).selectExpr(*texts)
    tried = _frame(spark, GOOD).selectExpr(*forms)
    types = [
        (field.dataType, other.dataType)
        for field, other in zip(plain.schema, tried.schema, strict=True)
    ]
    assert not [
        (text, *pair) for text, pair in zip(texts, types, strict=True) if pair[0] != pair[1]
    ]
    assert tuple(tried.first()) == tuple(plain.first())
    assert len(_frame(spark, BAD).selectExpr(*forms).collect()) == 1


@pytest.mark.parametrize(
    ("sql", "form"),
    [
        ("(a + b) * c", "TRY_MULTIPLY(TRY_ADD(a, b), c)"),
        ("-5", "-5"),
        ("m['k']", "m['k']"),
        ("a[0]", "GET(a, 0)"),
        ("mod(a, b)", "TRY_MOD(a, b)"),
        ("int(a)", "TRY_CAST(a AS INT)"),
        ("upper(a) LIKE 'x%'", "UPPER(a) LIKE 'x%'"),
    ],
)
def test_forms(sql, form):
    assert to_spark_sql(parse_tree(sql)) == form


def test_a_known_integer_gets_the_lean_minus():
    tree = parse_tree("-(a + b)")
    assert to_spark_sql(tree, {"A": INT, "b": INT}) == (
        "TRY_SUBTRACT(CAST(0 AS TINYINT), TRY_ADD(a, b))"
    )


def test_the_tree_given_is_not_changed():
    tree = parse_tree("a + b")
    to_spark_sql(tree)
    assert tree.sql() == "a + b"
