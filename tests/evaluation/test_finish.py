"""Finishing expressions by example: what counts as raised, and the corners of each type."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tidemill.evaluation.finish import evaluate
from tidemill.evaluation.rounding import round_doubles
from tidemill.language.expressions.trees import parse_tree
from tidemill.plan.bind.clauses import type_expression
from tidemill.plan.expressions import Opaque, is_vectorised
from tidemill.types import DOUBLE, STRING, parse_type

COLUMNS = {
    "z": parse_type("INT"),
    "one": parse_type("INT"),
    "none": parse_type("INT"),
    "big": parse_type("BIGINT"),
    "low": parse_type("TINYINT"),
    "d": DOUBLE,
    "c": parse_type("DECIMAL(10,2)"),
    "w": parse_type("DECIMAL(38,0)"),
    "x": STRING,
}
ROW = {
    "z": 0,
    "one": 1,
    "none": None,
    "big": 2**63 - 1,
    "low": -128,
    "d": 1.005,
    "c": Decimal("99999999.99"),
    "w": Decimal("9" * 38),
    "x": "é",
}
ARRAYS = {name: pa.array([ROW[name]], type.arrow) for name, type in COLUMNS.items()}
# Each with the value of its try_ form, and whether plain Spark stops.
CASES = [
    ("one / z", None, True),
    ("none / z", None, False),
    ("z / none", None, False),
    ("big + 1", None, True),
    ("-low", None, True),
    ("ABS(low)", None, True),
    ("low * low", None, True),
    ("big DIV z", None, True),
    ("(-big - 1) DIV -1", None, True),
    ("(-big - 1) % -1", 0, False),
    ("d % z", None, True),
    ("CAST(big AS INT)", None, True),
    ("TRY_CAST(big AS INT)", None, False),
    ("TRY_CAST(one / z AS INT)", None, True),
    ("w + 1", None, True),
    ("c * c", Decimal("9999999998000000.0001"), False),
    ("CAST(c AS TINYINT)", None, True),
    ("ROUND(low, -1)", None, True),
    ("ROUND(w, -1)", None, True),
    ("ROUND(d, 2)", 1.01, False),
    ("none + one / z", None, False),
    ("one / z + none", None, True),
    ("(one / z) / none", None, False),
    ("none > one / z", None, False),
    ("one / z <=> none", True, True),
    ("CASE WHEN z <> 0 THEN one / z ELSE 7 END", 7.0, False),
    ("CASE WHEN one / z > 1 THEN 1 ELSE 7 END", 7, True),
    ("CASE WHEN one = 1 THEN 5 WHEN one / z > 1 THEN 6 END", 5, False),
    ("CASE WHEN z = 1 THEN 5 END", None, False),
    ("COALESCE(one, one DIV z)", 1, False),
    ("COALESCE(none, one DIV z, 3)", 3, True),
    ("z <> 0 AND one / z > 1", False, False),
    ("one / z > 1 AND z <> 0", False, True),
    ("none = 1 AND one / z > 1", None, True),
    ("z = 0 OR one / z > 1", True, False),
    ("one DIV z IN (1, 2)", None, True),
    ("one NOT IN (2, NULL)", None, False),
    ("x > 'z'", True, False),
]


def _typed(sql):
    return type_expression(parse_tree(sql), COLUMNS, lambda _sql, _columns: STRING)


@pytest.mark.parametrize(("sql", "value", "raised"), CASES)
def test_value_and_raised(sql, value, raised):
    node = _typed(sql)
    assert is_vectorised(node)
    done = evaluate(node, ARRAYS, rows=1)
    assert (done.values.to_pylist(), done.raised.tolist()) == ([value], [raised])


def test_plain_spark_stops_exactly_where_raised_says(spark):
    from pyspark.errors import PySparkException

    # A real scan: over a constant row the optimiser would evaluate branches nobody takes.
    frame = spark.createDataFrame(pa.table(ARRAYS))

    def stops(sql):
        try:
            frame.selectExpr(sql).collect()
        except PySparkException:
            return True
        return False

    assert [sql for sql, _, raised in CASES if stops(sql) != raised] == []


def test_no_rows_give_no_values():
    for sql in ("z + 1", "c / 3", "x = 'a'", "ROUND(d, 1)", "CAST(w AS STRING) = x", "w * 2", "1"):
        node = _typed(sql)
        if is_vectorised(node):
            empty = {name: array.slice(0, 0) for name, array in ARRAYS.items()}
            done = evaluate(node, empty, rows=0)
            assert (len(done.values), done.values.type) == (0, node.type.arrow)


def test_slices_of_arrays_are_read_from_their_offset():
    whole = pa.array([Decimal("1"), None, Decimal("-3")], COLUMNS["w"].arrow)
    done = evaluate(_typed("w - 1"), {"w": whole.slice(1)}, rows=2)
    assert done.values.to_pylist() == [None, Decimal("-4")]


def test_an_opaque_expression_is_not_evaluated_here():
    with pytest.raises(TypeError, match="for Spark"):
        evaluate(Opaque("UPPER(x)", STRING), ARRAYS, rows=1)


@pytest.mark.parametrize(
    ("value", "digits", "rounded"),
    [
        (1.005, 2, 1.01),
        (2.675, 2, 2.68),
        (-2.5, 0, -3.0),
        (-0.4, 0, 0.0),
        (1e300, 2, 1e300),
        (0.5 - 2**-54, 0, 0.0),
        (4503599627370495.5, 0, 4503599627370496.0),
        (5e-324, 30, 0.0),
        (1.2345678901234567, 25, 1.2345678901234567),
        (math.inf, 1, math.inf),
    ],
)
def test_doubles_round_as_their_decimal_text(value, digits, rounded):
    result = round_doubles(np.array([value]), digits)[0]
    assert (result, math.copysign(1, result)) == (rounded, math.copysign(1, rounded))
