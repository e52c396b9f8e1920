"""Counted values that take too much: the queries that need them stop, and no other one does."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.stories.oracle import Case, Term, batch_answers
from tests.stories.streams import STREAM, cut, random_rows, table_of, write_files
from tidemill.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUMS = Case(
    name="sums",
    stream="s",
    range_ms=20_000,
    slide_ms=5_000,
    start_ms=0,
    keys=(Term("k"),),
    aggregates=(Term("COUNT(*)"), Term("SUM(m)")),
    where=None,
    having=None,
    descending=False,
    limit=None,
)
COUNTS = """
CREATE QUERY counts INTO out AS SELECT k, COUNT(DISTINCT x) AS d, MEDIAN(x) AS m
FROM s [RANGE 20 s SLIDE 5 s] GROUP BY k;
"""
SCRIPT = STREAM + SUMS.create("out") + COUNTS


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Path:
    rows = random_rows(random.Random(3), "ordered", 240)
    write_files(tmp_path / "in", cut(rows, 4))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    return tmp_path


def test_a_query_stops_and_the_others_go_on(spark: SparkSession, folder: Path) -> None:
    with Engine(folder / "home") as engine:
        engine.sql(f"{SCRIPT} SET value_memory = '500';", folder)
        report = engine.run("flush")
        (reason,) = report.stopped.values()
        assert reason.startswith("error[E_VALUE_MEMORY]: query counts is stopped: the values")
        assert "APPROX_COUNT_DISTINCT in place of COUNT(DISTINCT x)" in reason
        assert "APPROX_PERCENTILE in place of MEDIAN(x)" in reason
        (shown,) = engine.sql("SHOW QUERIES")
        assert [line.split()[1] for line in shown.splitlines()[2:4]] == ["running", "stopped"]
        assert reason in shown
        answered = len(engine.query("counts").answers())
        assert SUMS.compare(engine.query("sums").answers().to_arrow(), batch_answers(spark, SUMS))
    with Engine(folder / "home") as engine:
        # It is stopped until somebody says otherwise, also for another process.
        assert set(engine.catalog.stopped) == {"counts"}
        engine.sql("SET value_memory = '1 MB'; RESUME QUERY counts;")
        assert not engine.catalog.stopped
        write_files(folder / "in", [random_rows(random.Random(4), "far", 100)[-12:]], first=9)
        assert not engine.run("flush").stopped
        assert len(engine.query("counts").answers()) > answered


def test_a_bound_that_is_not_met_stops_nothing(folder: Path) -> None:
    with Engine(folder / "home") as engine:
        engine.sql(SCRIPT, folder)
        report = engine.run("flush")
        assert not report.stopped
        assert report.queries["counts"] == report.queries["sums"]
