"""What is worked out from counts of values equals Spark batch SQL, by arrays and by Catalyst."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from tests.stories.oracle import HOLISTIC, Case, Term, close, many_batch_answers, plain_values
from tests.stories.streams import STREAM, cut, random_rows, table_of, write_files
from tidemill.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOWS_MS = ((10_000, 5_000), (7_000, 3_000), (60_000, 60_000), (2_000, 9_000))
KEYS = ((), (Term("k"),), (Term("g"), Term("b")))


def cases_of(rng: random.Random) -> list[Case]:
    """Every aggregate in several windows and groups."""
    return [
        Case(f"q{n}", "s", *rng.choice(WINDOWS_MS), 0, keys, terms, None, None, False, None)
        for n, (keys, terms) in enumerate(
            (keys, HOLISTIC[first : first + 3])
            for first in range(0, len(HOLISTIC), 3)
            for keys in rng.sample(KEYS, 2)
        )
    ]


@pytest.mark.parametrize("scan", ["auto", "catalyst"])
def test_aggregates_of_counted_values_equal_batch(
    spark: SparkSession, tmp_path: Path, scan: str
) -> None:
    rng = random.Random(scan)
    rows = random_rows(rng, "disordered", 240)
    write_files(tmp_path / "in", cut(rows, 4))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    cases = cases_of(rng)
    with Engine(tmp_path / "home") as engine:
        engine.sql(
            f"SET scan = '{scan}';{STREAM}{''.join(c.create('out') for c in cases)}", tmp_path
        )
        engine.run("flush")
        answers = [engine.query(case.name).answers().to_arrow() for case in cases]
    batches = many_batch_answers(spark, cases)
    counts = [c.compare_keyed(*pair) for c, *pair in zip(cases, answers, batches, strict=True)]
    assert min(counts) > 0


DUCK = """
SELECT s, k, COUNT(DISTINCT name), QUANTILE_CONT(m, 0.5), QUANTILE_CONT(x, 0.9),
       LIST_SLICE(LIST_SORT(LIST(m) FILTER (m IS NOT NULL)), 1, 3)
FROM (SELECT *, UNNEST([p - 1, p]) * 5000000 AS s
      FROM (SELECT *, EPOCH_US(ts) // 5000000 AS p FROM rows))
GROUP BY s, k
"""


def test_aggregates_of_counted_values_equal_duckdb(tmp_path: Path) -> None:
    rows = [row for row in random_rows(random.Random(5), "ordered", 300) if _is_finite(row["x"])]
    write_files(tmp_path / "in", cut(rows, 3))
    with Engine(tmp_path / "home") as engine:
        query = "SELECT k, COUNT(DISTINCT name) AS a, MEDIAN(m) AS b, PERCENTILE(x, 0.9) AS c,"
        query += " COLLECT(m, 3) AS d FROM s [RANGE 10 s SLIDE 5 s] GROUP BY k"
        engine.sql(f"{STREAM} CREATE QUERY q INTO out AS {query};", tmp_path)
        engine.run("flush")
        answers = engine.query("q").answers().to_arrow().drop(["window_end", "d_total"])
    with duckdb.connect() as duck:
        duck.register("rows", table_of(rows))
        wanted = duck.sql(DUCK).to_arrow_table()
    mine, theirs = (
        {row[:2]: row[2:] for row in zip(*map(plain_values, found.columns), strict=True)}
        for found in (answers, wanted)
    )
    assert mine.keys() == theirs.keys()
    assert all(all(map(close, mine[key], theirs[key])) for key in mine)


def _is_finite(value: float | None) -> bool:
    """What DuckDB interpolates with infinities is not Spark's."""
    return value is None or math.isfinite(value)
