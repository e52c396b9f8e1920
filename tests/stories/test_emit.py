"""Early answers and windows without rows beside batch SQL of DuckDB, which knows nothing of either.

What batch SQL is asked: of early answers every open window joined with the rows before an
instant, of windows without rows all windows, left joined with the rows.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from tests.stories.streams import (
    COLUMNS,
    NOON_US,
    SECOND_US,
    Row,
    cut,
    random_row,
    table_of,
    write_files,
)
from tidemill.engine import Engine

Files = tuple[Path, list[list[Row]]]
RANGE_US, SLIDE_US, START_US, EVERY_US = (n * SECOND_US for n in (40, 10, 3, 7))
WINDOW = "[RANGE 40 SECONDS SLIDE 10 SECONDS START 3 SECONDS]"
STREAM = f"""
SET tick_files = 1;
CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in';
CREATE SINK out TO 'parquet:out-{{}}';
"""
VALUES = "COUNT(*) AS n, SUM(m * 2) AS a, MIN(day) AS b"
CONDITION = "k = 'a' AND b"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
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


def answers(folder: Path, emit: str, condition: str = "") -> list[Any]:
    """The answers of a query, read from its sink."""
    name = emit.split()[1].lower()
    where = f"WHERE {condition}" if condition else ""
    with Engine(folder / f"home-{name}") as engine:
        engine.sql(STREAM.format(name), folder)
        engine.sql(f"CREATE QUERY q INTO out AS SELECT {VALUES} FROM s {WINDOW} {where} {emit};")
        report = engine.run("flush")
    assert set(report.routes) == {"columnar"}
    return _rows(folder / f"out-{name}" / "query=q")


def _rows(folder: Path) -> list[Any]:
    return _tuples(ds.dataset(sorted(map(str, folder.glob("[!_]*.parquet")))).to_table())


def _tuples(table: pa.Table) -> list[Any]:
    columns = [
        (c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c).to_pylist()
        for c in table.columns
    ]
    return sorted(zip(*columns, strict=True), key=repr)


def batch(rows: list[Row], windows: list[tuple[int, int]], values: str, join: str) -> list[Any]:
    """The windows, as starts and instants up to which rows count, joined with the rows."""
    bounds = [pa.array(column, pa.int64()) for column in zip(*windows, strict=True)]
    with duckdb.connect() as database:
        database.register("windows", pa.table(bounds, ["low", "high"]))
        database.register("rows", table_of(rows))
        ends = f"low, low + {RANGE_US}::BIGINT AS e, high"
        sql = f"SELECT {ends}, {values} FROM windows {join} GROUP BY low, high"
        return sorted(
            (
                (*row[:4], row[4] if row[4] is None else int(row[4]), *row[5:])
                for row in database.sql(sql).fetchall()
            ),
            key=repr,
        )


def test_early_answers_equal_batch_sql_over_the_rows_before(files: Files) -> None:
    folder, parts = files
    rows = [row for part in parts for row in part]
    windows = [(start, start + RANGE_US) for start in _starts(rows[0]["ts"], rows[-1]["ts"])]
    closing, before_us = len(windows), None
    for part in parts:
        after_us = part[-1]["ts"]
        instant_us = after_us - (after_us - START_US) % EVERY_US
        if before_us is None or instant_us > before_us:
            open_starts = _starts(after_us - RANGE_US + 1, instant_us - 1)
            windows += [(s, instant_us) for s in open_starts if s + RANGE_US > after_us]
        before_us = after_us
    join = "JOIN rows ON EPOCH_US(ts) >= low AND EPOCH_US(ts) < high"
    expected = batch(rows, windows, VALUES, join)
    assert answers(folder, "EMIT EVERY 7 SECONDS") == expected
    assert len(expected) > closing / 2 + 10


def test_windows_without_rows_equal_a_join_with_all_windows(files: Files) -> None:
    folder, parts = files
    rows = [row for part in parts for row in part]
    passing = [row["ts"] for row in rows if row["k"] == "a" and row["b"]]
    windows = [(s, s + RANGE_US) for s in _starts(passing[0], rows[-1]["ts"])]
    join = f"LEFT JOIN rows ON EPOCH_US(ts) >= low AND EPOCH_US(ts) < high AND {CONDITION}"
    joined = batch(rows, windows, _of_rows(VALUES), join)
    expected = sorted([(start, end, *rest) for start, end, _, *rest in joined], key=repr)
    assert answers(folder, "EMIT EMPTY WINDOWS", CONDITION) == expected
    assert sum(row[2] == 0 for row in expected) > 10


def _of_rows(values: str) -> str:
    """COUNT(*) counts the window itself where no row is joined to it."""
    return values.replace("COUNT(*)", "COUNT(ts)")


def _starts(first_us: int, last_us: int) -> list[int]:
    """Of the windows that hold one of the instants or lie between them."""
    low = first_us - RANGE_US + 1
    low += (START_US - low) % SLIDE_US
    return list(range(low, last_us + 1, SLIDE_US))
