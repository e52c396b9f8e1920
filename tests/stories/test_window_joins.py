"""Joins of windows: answers equal DuckDB's over the rows of each instant, whatever the tick."""

from __future__ import annotations

import random
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.laws.kills import Mortal
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
from tidemill.failpoints import STEPS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SINK = "SET tick_files = {}; SET snapshot_pieces = 2; CREATE SINK out TO 'parquet:out';"
SCRIPT = "".join(
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
        register(engine, tmp_path, cases)
        report = engine.run("flush")
        assert report.failed_streams == {}
        assert report.rows_late == 0
        assert report.ticks > 10
        compare(engine, streams, cases)


def test_joins_through_catalyst_equal_batch(spark: SparkSession, tmp_path: Path) -> None:
    streams, cases = draw(21, 16, texts=True)
    write_streams(tmp_path, streams, {"s1": 1, "s2": 2, "s3": 1})
    with Engine(tmp_path / "home") as engine:
        register(engine, tmp_path, cases)
        assert "catalyst" in engine.run("flush").routes
        compare(engine, streams, cases)


@pytest.mark.parametrize("files", [1, 3, 64])
def test_cuts_into_ticks_change_nothing(tmp_path: Path, files: int) -> None:
    streams, cases = draw(14, 12)
    write_streams(tmp_path, streams, {"s1": 5, "s2": 7, "s3": 4})
    with Engine(tmp_path / "home") as engine:
        register(engine, tmp_path, cases, files)
        report = engine.run("flush")
        assert (report.ticks > 10) == (files == 1)
        compare(engine, streams, cases)


def test_ten_runs_over_what_is_there_answer_as_one(tmp_path: Path) -> None:
    streams, cases = draw(12, 12)
    write_streams(tmp_path / "all", streams, {"s1": 10, "s2": 5, "s3": 3})
    for name in STREAMS:
        (tmp_path / name).mkdir()
    files = sorted((tmp_path / "all").glob("*/*.parquet"), key=lambda path: path.name)
    with Engine(tmp_path / "home") as engine:
        register(engine, tmp_path, cases)
    for number in range(10):
        for path in files[len(files) * number // 10 : len(files) * (number + 1) // 10]:
            path.rename(tmp_path / path.parent.name / path.name)
        with Engine(tmp_path / "home") as engine:
            assert engine.run("idle").ticks
    with Engine(tmp_path / "home") as engine:
        engine.run("flush")
        compare(engine, streams, cases)


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_in_any_step_changes_no_answer(tmp_path: Path, step: str) -> None:
    streams, cases = draw(13, 12)
    write_streams(tmp_path, streams, {"s1": 5, "s2": 3, "s3": 2})
    with Engine(tmp_path / "home") as engine:
        register(engine, tmp_path, cases)
    mortal = Mortal(tmp_path / "home")
    try:
        mortal.run(step, 1, 2, 0, 3)
        assert mortal.kills
        mortal.engine.run("flush")
        compare(mortal.engine, streams, cases)
    finally:
        mortal.engine.close()


def register(engine: Engine, folder: Path, cases: list[JoinCase], files: int = 1) -> None:
    engine.sql(SINK.format(files) + SCRIPT, folder)
    engine.sql("\n".join(case.create for case in cases))


def compare(engine: Engine, streams: dict[str, list[Row]], cases: list[JoinCase]) -> None:
    base, wrong, compared = batch_of(streams), list[str](), 0
    for case in cases:
        batch = list(case.answers(base, NOON_US + 60 * SECOND_US))
        wrong += differences(case.create, answers_of(engine, case), batch)[:3]
        compared += len(batch)
    assert wrong == []
    assert compared > 5 * len(cases)
