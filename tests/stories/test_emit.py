"""Early answers and windows without rows beside Spark batch SQL, which knows nothing of either.

What batch SQL is asked: of early answers every open window joined with the rows before an
instant, of windows without rows all windows, left joined with the rows.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from tests.stories.streams import (
    COLUMNS,
    NOON_US,
    SECOND_US,
    cut,
    random_row,
    table_of,
    write_files,
)
from tidemill.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RANGE_US, SLIDE_US, START_US, EVERY_US = (n * SECOND_US for n in (40, 10, 3, 7))
WINDOW = "[RANGE 40 SECONDS SLIDE 10 SECONDS START 3 SECONDS]"
STREAM = f"""
SET tick_files = 1; SET scan = '{{}}';
CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in';
CREATE SINK out TO 'parquet:out-{{}}';
"""
# The first is finished here and is on arrays, the second needs Spark to be finished.
VALUES = (
    "COUNT(*) AS n, SUM(m * 2) AS a, MIN(day) AS b",
    "COUNT(g) AS n, SUM(g) + 1 AS a, CAST(MIN(day) AS STRING) AS b",
)
CONDITION = "k = 'a' AND b"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[dict[str, Any]]]]:
    """Bursts with gaps between them, in files of many seconds."""
    folder, rng = tmp_path_factory.mktemp("emit"), random.Random(8)
    bursts = [NOON_US + 70 * SECOND_US * number for number in range(12)]
    times = [burst + rng.randrange(20 * SECOND_US) for burst in bursts for _ in range(15)]
    rows = [random_row(rng, time_us) for time_us in sorted(times)]
    for row in rows:
        # Sums of these neither overflow nor lose digits, whoever adds them up.
        row["m"] = row["m"] and min(row["m"], 99)
    parts = cut(rows, 9)
    write_files(folder / "in", parts)
    return folder, parts


def answers(folder: Path, scan: str, emit: str, condition: str = "") -> list[list[Any]]:
    """The answers of a query for each of the select lists, read from their sink."""
    name = f"{scan}-{emit[5:10]}".replace(" ", "").lower()
    with Engine(folder / f"home-{name}") as engine:
        engine.sql(STREAM.format(scan, name), folder)
        where = f"WHERE {condition}" if condition else ""
        for number, values in enumerate(VALUES):
            select = f"SELECT {values} FROM s {WINDOW} {where} {emit}"
            engine.sql(f"CREATE QUERY q{number} INTO out AS {select};")
        report = engine.run("flush")
    assert set(report.routes) == {"columnar" if scan == "auto" else "catalyst"}
    return [_rows(folder / f"out-{name}" / f"query=q{n}") for n in range(len(VALUES))]


def _rows(folder: Path) -> list[Any]:
    return _tuples(ds.dataset(sorted(map(str, folder.glob("[!_]*.parquet")))).to_table())


def _tuples(table: pa.Table) -> list[Any]:
    columns = [
        (c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c).to_pylist()
        for c in table.columns
    ]
    return sorted(zip(*columns, strict=True), key=repr)


def batch(spark: SparkSession, windows: list[tuple[int, int]], values: str, join: str) -> list[Any]:
    """The windows, as starts and instants up to which rows count, joined with the rows."""
    spark.createDataFrame(windows, "low LONG, high LONG").createOrReplaceTempView("windows")
    sql = (
        f"SELECT low, low + {RANGE_US}L AS e, high, {values} FROM windows {join} GROUP BY low, high"
    )
    return _tuples(spark.sql(sql).toArrow())


@pytest.mark.parametrize("scan", ["auto", "catalyst"])
def test_early_answers_equal_batch_sql_over_the_rows_before(
    scan: str, files: tuple[Path, list[list[dict[str, Any]]]], spark: SparkSession
) -> None:
    folder, parts = files
    rows = [row for part in parts for row in part]
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("rows")
    windows = [(start, start + RANGE_US) for start in _starts(rows[0]["ts"], rows[-1]["ts"])]
    closing, before_us = len(windows), None
    for part in parts:
        after_us = part[-1]["ts"]
        instant_us = after_us - (after_us - START_US) % EVERY_US
        if before_us is None or instant_us > before_us:
            open_starts = _starts(after_us - RANGE_US + 1, instant_us - 1)
            windows += [(s, instant_us) for s in open_starts if s + RANGE_US > after_us]
        before_us = after_us
    join = "JOIN rows ON UNIX_MICROS(ts) >= low AND UNIX_MICROS(ts) < high"
    told = answers(folder, scan, "EMIT EVERY 7 SECONDS")
    for values, found in zip(VALUES, told, strict=True):
        expected = batch(spark, windows, values, join)
        assert found == expected
        assert len(expected) > closing / 2 + 10


@pytest.mark.parametrize("scan", ["auto", "catalyst"])
def test_windows_without_rows_equal_a_join_with_all_windows(
    scan: str, files: tuple[Path, list[list[dict[str, Any]]]], spark: SparkSession
) -> None:
    folder, parts = files
    rows = [row for part in parts for row in part]
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("rows")
    passing = [row["ts"] for row in rows if row["k"] == "a" and row["b"]]
    windows = [(s, s + RANGE_US) for s in _starts(passing[0], rows[-1]["ts"])]
    join = f"LEFT JOIN rows ON UNIX_MICROS(ts) >= low AND UNIX_MICROS(ts) < high AND {CONDITION}"
    told = answers(folder, scan, "EMIT EMPTY WINDOWS", CONDITION)
    for values, found in zip(VALUES, told, strict=True):
        joined = batch(spark, windows, _of_rows(values), join)
        expected = [(start, end, *rest) for start, end, _, *rest in joined]
        assert found == sorted(expected, key=repr)
        assert sum(row[2] == 0 for row in expected) > 10


def _of_rows(values: str) -> str:
    """Spark's COUNT(*) counts the window itself where no row is joined to it."""
    return values.replace("COUNT(*)", "COUNT(ts)")


def _starts(first_us: int, last_us: int) -> list[int]:
    """Of the windows that hold one of the instants or lie between them."""
    low = first_us - RANGE_US + 1
    low += (START_US - low) % SLIDE_US
    return list(range(low, last_us + 1, SLIDE_US))
