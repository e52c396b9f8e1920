"""GEOMETRIC_MEAN equals Spark batch SQL's EXP(AVG(LN(x))), by arrays and by Catalyst."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.stories.oracle import AGGREGATES, Case, Term, many_batch_answers
from tests.stories.streams import STREAM, cut, random_rows, table_of, write_files
from tidemill.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEANS = tuple(term for term in AGGREGATES if term.sql.startswith("GEOMETRIC_MEAN"))
WINDOWS_MS = ((10_000, 5_000), (7_000, 3_000), (2_000, 9_000))


@pytest.mark.parametrize("scan", ["auto", "catalyst"])
def test_geometric_means_equal_batch(spark: SparkSession, tmp_path: Path, scan: str) -> None:
    terms = tuple(term for term in MEANS if scan == "catalyst" or not term.odd)
    rows = random_rows(random.Random(scan), "disordered", 240)
    write_files(tmp_path / "in", cut(rows, 4))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    cases = [
        Case(f"q{number}", "s", *window, 0, (Term("k"),), terms, None, None, False, None)
        for number, window in enumerate(WINDOWS_MS)
    ]
    script = f"SET scan = '{scan}';{STREAM}{''.join(case.create('out') for case in cases)}"
    with Engine(tmp_path / "home") as engine:
        engine.sql(script, tmp_path)
        routes = engine.run("flush").routes
        answers = [engine.query(case.name).answers().to_arrow() for case in cases]
    assert set(routes) == {"columnar" if scan == "auto" else "catalyst"}
    for case, mine, batch in zip(cases, answers, many_batch_answers(spark, cases), strict=True):
        assert case.compare_keyed(mine, batch) > 0
        assert any(value is not None for value in mine["a0"].to_pylist())
