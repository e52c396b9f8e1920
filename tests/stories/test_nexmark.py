"""Every script of examples/nexmark gives what DuckDB says over the same rows."""

from __future__ import annotations

import math
import subprocess
import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute
import pytest
from _nexmark.in_duckdb import DUCKDB, open_house
from _nexmark.in_spark import SPARK
from _nexmark.scripts import EXAMPLES, copy_tables, over_files, query_names

from tidemill import Engine
from tidemill.clock import ManualClock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[tuple[Any, ...]]
EVENTS = 60_000
# Half a minute of two events a millisecond, so that bids share their times.
OPTIONS = ("--rows", str(EVENTS), "--rows-per-file", "10000", "-o", "rate=2000", "-o", "seed=5")
WITH_EARLY_ANSWERS = ("q15", "q16", "q17")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("nexmark") / "data"
    # In a process of its own: it forks, which a process with a JVM had better not.
    program = [sys.executable, "-c", "from tidemill.cli import main; main()"]
    subprocess.run([*program, "generate", "nexmark", str(place), *OPTIONS], check=True)
    return place


@pytest.fixture(scope="module")
def answers(
    spark: object, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, pa.Table]:
    """Of all scripts in one home, in three ticks."""
    base = copy_tables(tmp_path_factory.mktemp("base"))
    with Engine(base / "home", clock=ManualClock(), default_sink="memory") as engine:
        engine.sql("SET tick_files = 2")
        for query in query_names():
            engine.sql(over_files(query, data), base)
        report = engine.run("flush")
        assert (report.rows_late, report.rows_malformed) == (0, 0)
        return {query: engine.query(query).answers().to_arrow() for query in query_names()}


def test_every_script_has_its_words_in_duckdb() -> None:
    assert set(query_names()) == set(DUCKDB)


@pytest.mark.parametrize("query", [query for query in DUCKDB if query != "q12"])
def test_answers_equal_duckdb(answers: dict[str, pa.Table], data: Path, query: str) -> None:
    table = answers[query]
    if query in WITH_EARLY_ANSWERS:
        closing = pa.compute.equal(table["as_of"], table["window_end"])
        table = table.filter(closing).drop_columns("as_of")
    assert table.num_rows > 0
    check_equal(rows_of(table), in_duckdb(data, query))


@pytest.mark.parametrize("query", WITH_EARLY_ANSWERS)
def test_early_answers_are_those_of_the_rows_before(
    answers: dict[str, pa.Table], data: Path, query: str
) -> None:
    table = answers[query]
    early = table.filter(pa.compute.less(table["as_of"], table["window_end"]))
    instants = early["as_of"].unique()
    assert len(instants) > 1
    for instant in instants:
        rows = early.filter(pa.compute.equal(early["as_of"], instant)).drop_columns("as_of")
        before = f"dateTime < '{instant.as_py().isoformat()}'"
        check_equal(rows_of(rows), in_duckdb(data, query, before))


def test_bids_are_counted_by_bidder_whenever_they_arrive(
    answers: dict[str, pa.Table], data: Path
) -> None:
    counts = answers["q12"].group_by("bidder").aggregate([("bid_count", "sum")])
    assert counts.num_rows > 100
    check_equal(rows_of(counts), in_duckdb(data, "q12"))


@pytest.mark.parametrize("query", [query for query, said in SPARK.items() if said.is_by_row])
def test_the_peer_of_the_benchmark_is_asked_the_same(
    spark: SparkSession, data: Path, query: str
) -> None:
    """In one batch, where its words mean what they mean over a stream."""
    spark.read.parquet(str(data / "bid")).createOrReplaceTempView("bid")
    side = spark.read.csv(str(EXAMPLES / "data" / "side_input.csv"), header=True)
    side.createOrReplaceTempView("side_input")
    rows = spark.sql(SPARK[query].sql).toArrow()
    assert rows.num_rows > 0
    check_equal(rows_of(rows), in_duckdb(data, query))


@pytest.mark.parametrize(
    ("query", "published"),
    [
        ("q3", "SELECT COUNT(*) FROM auction AS a JOIN person AS p ON a.seller = p.id"
               " WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')"),
        ("q20", "SELECT COUNT(*) FROM bid AS b JOIN auction AS a ON b.auction = a.id"
                " WHERE a.category = 10"),
    ],
)  # fmt: skip
def test_windows_miss_no_pair_that_the_published_query_has(
    answers: dict[str, pa.Table], data: Path, query: str, published: str
) -> None:
    table = answers[query]
    pairs = pa.compute.sum(table["bids"]).as_py() if query == "q20" else table.num_rows
    with open_house(data, 1) as house:
        assert house.sql(published).fetchall() == [(pairs,)]


def in_duckdb(data: Path, query: str, before: str = "TRUE") -> Rows:
    with open_house(data, 1, before) as house:
        return house.sql(DUCKDB[query]).fetchall()


def rows_of(table: pa.Table) -> Rows:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def check_equal(rows: Rows, expected: Rows) -> None:
    ours, theirs = (sorted(tuple(map(plain, row)) for row in some) for some in (rows, expected))
    assert len(ours) == len(theirs)
    assert all(map(is_same, ours, theirs))


def plain(value: Any) -> Any:
    """Times without their zone, which is UTC in both; numbers of equal value alike."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return value.normalize() if isinstance(value, Decimal) else value


def is_same(row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(row) == len(other) and all(map(is_equal, row, other))


def is_equal(value: Any, other: Any) -> bool:
    if isinstance(value, float):
        return math.isclose(value, other, rel_tol=1e-9)
    return bool(value == other)
