"""Spark as the judge of normal forms: same type, same values, and errors in the same rows.

The two are evaluated in queries of their own: in one, Spark would see that they are equal and
evaluate just one of them. Rows hold NULL, extremes, NaN, infinities and both zeros. What neither
form reaches, such as a sum of more digits than any row has, is not compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.test_spark_keeps_meaning import SCALARS
from tests.plan.scalar_texts import COLUMNS, TYPES, random_text
from tidemill.language.expressions.trees import parse_tree, to_sql
from tidemill.plan.normal_form import normal_form
from tidemill.plan.raises import raised_sql
from tidemill.plan.scalars import normal_text
from tidemill.plan.try_forms import to_spark_sql
from tidemill.types import parse_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 60
VALUES: dict[str, list[Any]] = {
    "t": [-128, -1, 0, 1, 2, 127],
    "i": [-(2**31), -1, 0, 1, 2, 7, 2**31 - 1],
    "b": [-(2**63), -1, 0, 1, 2, 3_000_000_000, 2**63 - 1],
    "f": [float("nan"), float("-inf"), -0.0, 0.0, 0.1, 1.0, 3.4e38],
    "d": [float("nan"), float("inf"), -0.0, 0.0, 0.1, 1.0, 1e308, 5e-324],
    "c": [Decimal(text) for text in ("-99999999.99", "0.00", "0.50", "1.00", "1.25")],
    "w": [Decimal(text) for text in ("-9" + "9" * 27, "0", "0.0000000001", "1.25")],
    "x": ["", "a", "ab", "b", "é"],
    "y": ["", "a", "b%", "z"],
    "ok": [True, False],
}


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> DataFrame:
    rng = np.random.default_rng(5)
    columns = [
        [None if rng.random() < 0.15 else values[rng.integers(len(values))] for _ in range(ROWS)]
        for values in VALUES.values()
    ]
    schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    return spark.createDataFrame(list(zip(*columns, strict=True)), schema).coalesce(1).cache()


def evaluate(table: DataFrame, forms: Sequence[Any], types: Any) -> tuple[list[str], list[str]]:
    """Types and values of the trees, and where each would have raised."""
    items = [f"{to_spark_sql(form, types)} AS v{n}" for n, form in enumerate(forms)]
    flags = [raised_sql(form, types) or "FALSE" for form in forms]
    items += [f"COALESCE({flag}, FALSE) AS r{n}" for n, flag in enumerate(flags)]
    frame = table.selectExpr(*items)
    return [field.dataType.simpleString() for field in frame.schema], [
        repr(row) for row in frame.collect()
    ]


def check_values(table: DataFrame, texts: Sequence[str], types: Any) -> list[str]:
    trees = [parse_tree(text) for text in texts]
    normal = [normal_form(tree, types) for tree in trees]
    kinds, rows = evaluate(table, trees, types)
    normal_kinds, normal_rows = evaluate(table, normal, types)
    differing = [n for n, kind in enumerate(kinds) if kind != normal_kinds[n]]
    assert [(texts[n], to_sql(normal[n])) for n in differing] == []
    assert normal_rows == rows
    return rows


def test_random_expressions(table: DataFrame) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=4)
    @given(st.integers(0, 2**32))
    def check(seed: int) -> None:
        rng = Random(seed)
        texts = [random_text(rng) for _ in range(40)]
        values = "".join(check_values(table, texts, TYPES))
        seen["raised"] += len(set(re.findall(r"r\d+=True", values)))
        seen["changed"] += sum(normal_text(text, TYPES) != text for text in texts)
        seen["odd"] += len(set(re.findall(r"v\d+=(?:nan|-0\.0)\b", values)))

    check()
    assert seen["changed"] > 100
    assert min(seen["raised"], seen["odd"]) > 8, seen


def test_forms_of_all_sorts(spark: SparkSession) -> None:
    """The expressions that the language is tested with, whatever they are made of."""
    from tests.language.test_spark_keeps_meaning import EXTRAS, ROWS

    spark.sql(ROWS).createOrReplaceTempView("rows")
    table = spark.sql(EXTRAS)
    types = {field.name: parse_type(field.dataType.simpleString()) for field in table.schema}
    assert check_values(table, SCALARS, types)
