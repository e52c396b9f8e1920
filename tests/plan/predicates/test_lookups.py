"""The signature as Spark computes it, against Spark's own evaluation of every condition."""

from __future__ import annotations

import random

import pytest

from tests.plan.predicates.grid import read, scalar
from tidemill.plan.predicates import WORD_BITS, Predicate, signature_sql
from tidemill.types import parse_type

KINDS = {
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "port": "INT",
    "size": "BIGINT",
    "cost": "DECIMAL(38,10)",
    "proto": "STRING",
    "day": "DATE",
    "at": "TIMESTAMP",
    "ok": "BOOLEAN",
}
TYPES = {name: parse_type(kind) for name, kind in KINDS.items()}
CONSTANTS = {
    "tiny": ["-128", "-1", "0", "7", "127", "128", "-300"],
    "small": ["-32768", "0", "443", "443.5", "32767", "40000"],
    "port": ["-2147483648", "-5", "0", "22", "80", "443", "2147483647", "3000000000"],
    "size": ["-9223372036854775808", "-1", "64", "1500", "9223372036854775807"],
    "cost": ["-9999999999999999999999999999.9999999999", "-0.5", "0", "0.0000000001", "12.5"],
    "proto": ["''", "'TCP'", "'UDP'", "'tcp'", "'a\\'b'", "'é'", "'\\\\'", "'😀'", "'TCP\\0'"],
    "day": ["DATE '0001-01-01'", "DATE '1969-12-31'", "DATE '2026-02-28'", "DATE '9999-12-31'"],
    "at": ["TIMESTAMP '1969-12-31 23:59:59.999999'", "TIMESTAMP '2026-01-01 00:00:00'"],
    "ok": ["TRUE", "FALSE"],
}
OPAQUE = ["proto LIKE 'T%'", "proto LIKE '%P'", "size > port", "LENGTH(proto) > 2"]
ROWS, CONDITIONS = 200, 150


def condition(draw, depth=2):
    """A random condition; about one leaf in ten is opaque."""
    if depth and draw.random() < 0.6:
        parts = condition(draw, depth - 1), condition(draw, depth - 1)
        form = draw.choice(["({}) AND ({})", "({}) AND ({})", "({}) OR ({})", "NOT ({})"])
        return form.format(*parts)
    if draw.random() < 0.1:
        return draw.choice(OPAQUE)
    name = draw.choice(list(CONSTANTS))
    one, two = draw.choice(CONSTANTS[name]), draw.choice(CONSTANTS[name])
    forms = [f"{name} IN ({one}, {two})", f"{name} BETWEEN {one} AND {two}", f"{name} IS NULL"]
    operators = ("=", "<>", "<", "<=", ">", ">=", "<=>")
    return draw.choice([*forms, *(f"{name} {op} {one}" for op in operators)])


@pytest.fixture(scope="module")
def conditions():
    """Distinct ones, each true of some rows for all we know."""
    draw = random.Random(5)
    texts: dict[Predicate, str] = {}
    while len(texts) < CONDITIONS:
        text = condition(draw)
        predicate = read(text, TYPES)
        if not (predicate.is_true or predicate.is_false):
            texts.setdefault(predicate, text)
    return list(texts.values())


@pytest.fixture(scope="module")
def rows(spark):
    """Constants, their neighbours by way of arithmetic, and NULL."""
    draw = random.Random(7)
    values = []
    for _ in range(ROWS):
        row = [_value(draw, name, kind) for name, kind in KINDS.items()]
        values.append(f"({', '.join(row)})")
    return spark.sql(f"SELECT * FROM VALUES {', '.join(values)} AS r({', '.join(KINDS)})").cache()


def _value(draw, name, kind):
    constant = draw.choice(["NULL", *CONSTANTS[name]])
    value = f"TRY_CAST({constant} AS {kind})"
    if name in ("tiny", "small", "port", "size", "cost", "day") and draw.random() < 0.4:
        step = draw.choice(["TRY_ADD", "TRY_SUBTRACT"])
        one = "CAST(0.0000000001 AS DECIMAL(38,10))" if name == "cost" else "1"
        return f"TRY_CAST({step}({value}, {one}) AS {kind})"
    return f"CONCAT({value}, 'x')" if name == "proto" and draw.random() < 0.2 else value


def signature_of(rows, bits):
    from tidemill.spark.catalyst.signature import with_lookups

    signature = signature_sql(bits, lambda condition: f"({condition.try_sql})")
    words = [f"{sql} AS s{number}" for number, sql in enumerate(signature.words)]
    return with_lookups(rows, signature.lookups).selectExpr(*words, *KINDS)


def test_every_bit_is_what_spark_says(spark, rows, conditions):
    bits = {number: read(text, TYPES) for number, text in enumerate(conditions)}
    assert max(bits) >= 2 * WORD_BITS
    assert any(predicate.residuals for predicate in bits.values())
    assert sum(len(predicate.boxes) > 1 for predicate in bits.values()) > 20
    wanted = [
        f"COALESCE({scalar(text, TYPES).try_sql}, FALSE) AS w{number}"
        for number, text in enumerate(conditions)
    ]
    worded = [
        f"COALESCE({predicate.sql}, FALSE) AS t{number}" for number, predicate in bits.items()
    ]
    found = signature_of(rows, bits).selectExpr("*", *wanted, *worded).drop(*KINDS).toPandas()
    wrong, mixed = [], 0
    for number, text in enumerate(conditions):
        word = found[f"s{number // WORD_BITS}"].to_numpy()
        holds = (word >> number % WORD_BITS & 1).astype(bool)
        if any((holds != found[f"{source}{number}"].to_numpy()).any() for source in "wt"):
            wrong.append(text)
        mixed += bool(holds.any() and not holds.all())
    assert not wrong
    assert mixed > CONDITIONS / 2


def test_a_signature_of_nothing_and_of_gaps(spark, rows):
    assert signature_sql({}, str).words == ()
    found = signature_of(rows, {100: read("port IS NULL", TYPES)})
    counts = found.selectExpr("COUNT_IF(s0 <> 0)", "COUNT_IF((s1 = 1L << 37) = (port IS NULL))")
    assert tuple(counts.first()) == (0, ROWS)


def test_the_compiled_code_serves_other_predicates(spark, rows):
    """The constants are no part of the generated code, as long as their number is alike."""
    metrics = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics
    compiled = metrics.METRIC_COMPILATION_TIME()

    def run(*texts):
        bits = {number: read(text, TYPES) for number, text in enumerate(texts)}
        before = compiled.getCount()
        signature_of(rows, bits).groupBy("s0").count().collect()
        return compiled.getCount() - before

    assert run("port = 80 AND proto = 'TCP'", "port IN (22, 23)", "proto > 'a'") > 0
    others = ("port = 81", "port BETWEEN 1 AND 5 AND proto < 'x'", "proto = 'b'", "port = 9")
    assert run(*others) == 0


def test_each_place_is_found_once(spark, rows):
    bits = {number: read(f"port > {number}", TYPES) for number in range(130)}
    found = signature_of(rows, bits).groupBy("s0", "s1", "s2").count()
    plan = found._jdf.queryExecution().executedPlan().toString()
    assert plan.count("binarySearch") == 1
