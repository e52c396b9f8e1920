"""Joins of windows: answers equal DuckDB's over the rows of each instant, whatever the tick."""

from __future__ import annotations

import random
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.stories.joins import (
    COLUMNS,
    LATENESS,
    NOON_US,
    SCHEMA,
    SECOND_US,
    STREAMS,
    CaseMaker,
    JoinCase,
    Row,
    differences,
    random_rows,
)
from tests.stories.streams import cut
from tidemill.engine import Engine

SCRIPT = "SET tick_files = 1; CREATE SINK out TO 'parquet:out';" + "".join(
    f"CREATE STREAM {name} ({COLUMNS}) ORDER BY ts SOURCE 'parquet:{name}'"
    f" WITH (lateness = '{LATENESS} seconds');"
    for name in STREAMS
)


def write_streams(folder: Path, streams: dict[str, list[Row]], files: dict[str, int]) -> None:
    for name, rows in streams.items():
        (folder / name).mkdir(parents=True)
        for number, some in enumerate(cut(rows, files[name])):
            pq.write_table(
                pa.Table.from_pylist(some, SCHEMA), folder / name / f"{number:03}.parquet"
            )


def batch_of(streams: dict[str, list[Row]]) -> duckdb.DuckDBPyConnection:
    base = duckdb.connect()
    base.execute("SET TimeZone = 'UTC'")
    for name, rows in streams.items():
        base.register("arrived", pa.Table.from_pylist(rows, SCHEMA))
        base.execute(f"CREATE TABLE {name} AS SELECT * FROM arrived")
    return base


def answers_of(engine: Engine, case: JoinCase) -> list[list[Any]]:
    table = engine.query(case.name).answers().to_arrow()
    return [
        [_micros(value) if isinstance(value, datetime) else value for value in row.values()]
        for row in table.to_pylist()
    ]


def _micros(time: datetime) -> int:
    return int(time.timestamp()) * SECOND_US + time.microsecond


def draw(seed: int, count: int, **options: Any) -> tuple[dict[str, list[Row]], list[JoinCase]]:
    rng = random.Random(seed)
    streams = {name: random_rows(rng, rng.choice((40, 60)), 60) for name in STREAMS}
    maker = CaseMaker(rng, **options)
    return streams, [maker.case(f"q{number}") for number in range(count)]


@pytest.mark.parametrize("seed", range(3))
def test_random_joins_equal_batch_at_every_instant(tmp_path: Path, seed: int) -> None:
    streams, cases = draw(seed, 24)
    write_streams(tmp_path, streams, {"s1": 5, "s2": 3, "s3": 2})
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT, tmp_path)
        engine.sql("\n".join(case.create for case in cases))
        report = engine.run("flush")
        assert report.rows_late == 0
        assert report.ticks > 10
        base, wrong, compared = batch_of(streams), list[str](), 0
        for case in cases:
            batch = list(case.answers(base, NOON_US + 60 * SECOND_US))
            wrong += differences(case.create, answers_of(engine, case), batch)[:3]
            compared += len(batch)
    assert wrong == []
    assert compared > 10 * len(cases)
