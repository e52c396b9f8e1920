"""PAUSE and RESUME: windows that close meanwhile are skipped, all others are exact.

rows        0 ………… 40 ………… 80 ………… 120
query         runs  | paused  | runs
watermark           35        75
answered    ends ≤ 35         ends > 75
"""

from __future__ import annotations

import queue
import random
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.stories.oracle import Case, Term, batch_answers
from tests.stories.streams import (
    LATENESS_US,
    NOON_US,
    SECOND_US,
    STREAM,
    Row,
    random_row,
    table_of,
    write_files,
)
from tidemill.engine import Engine
from tidemill.engine.tick.report import TickReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 300
RESTS = Case(
    name="rests",
    stream="s",
    range_ms=20_000,
    slide_ms=5_000,
    start_ms=0,
    keys=(Term("k"),),
    aggregates=(Term("COUNT(*)"), Term("SUM(d)")),
    where=Term("m > 5"),
    having=None,
    descending=False,
    limit=None,
)
STAYS = replace(RESTS, name="stays", range_ms=10_000)
SCRIPT = STREAM + RESTS.create("out") + STAYS.create("out")


def rows_of(seconds: range) -> list[Row]:
    rng = random.Random(seconds.start)
    return [random_row(rng, NOON_US + n * SECOND_US) for n in seconds]


PARTS = [rows_of(range(40)), rows_of(range(40, 80)), rows_of(range(80, 120))]


def write_part(folder: Path, number: int) -> None:
    """Moved into place whole, since a running engine may be looking."""
    write_files(folder / "made", [PARTS[number]], first=number)
    (folder / "in").mkdir(exist_ok=True)
    for path in (folder / "made").iterdir():
        path.replace(folder / "in" / path.name)


def skipped(windows: pa.Table, case: Case) -> pa.Table:
    """Batch answers without those of windows that closed between the first part and the second."""
    ends = pc.add(windows.column("s"), case.range_ms * 1000)
    watermarks = [part[-1]["ts"] - LATENESS_US for part in PARTS]
    asleep = pc.and_(pc.greater(ends, watermarks[0]), pc.less_equal(ends, watermarks[1]))
    return windows.filter(pc.invert(asleep))


def check(spark: SparkSession, engine: Engine) -> None:
    spark.createDataFrame(
        table_of([row for part in PARTS for row in part])
    ).createOrReplaceTempView("s")
    answers = {c.name: engine.query(c.name).answers().to_arrow() for c in (RESTS, STAYS)}
    assert STAYS.compare(answers["stays"], batch_answers(spark, STAYS)) > 50
    whole = batch_answers(spark, RESTS)
    expected = skipped(whole, RESTS)
    assert RESTS.compare(answers["rests"], expected) > 50
    assert len(expected) < len(whole) - 20


def state_of(engine: Engine, query: str) -> str:
    lines = engine.sql("SHOW QUERIES;")[0].splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{query} "))


def test_a_pause_between_runs_survives_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    write_part(tmp_path, 0)
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT, tmp_path)
        engine.run("idle")
        engine.sql("PAUSE QUERY Rests;")
    write_part(tmp_path, 1)
    with Engine(tmp_path / "home") as engine:
        assert (state_of(engine, "rests"), state_of(engine, "stays")) == ("paused", "running")
        report = engine.run("idle")
        assert report.queries["rests"] == 0
        assert report.queries["stays"] > 0
        engine.sql("RESUME QUERY rests;")
    write_part(tmp_path, 2)
    with Engine(tmp_path / "home") as engine:
        assert state_of(engine, "rests") == "running"
        engine.run("flush")
        check(spark, engine)


def test_a_pause_while_the_streams_run(spark: SparkSession, tmp_path: Path) -> None:
    """Another thread runs the streams; statements take effect between its ticks."""
    ticks: queue.Queue[TickReport] = queue.Queue()
    write_part(tmp_path, 0)
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT + "SET poll_ms = 20;", tmp_path)
        runs = threading.Thread(target=engine.run, args=("stopped", ticks.put))
        runs.start()
        try:
            assert ticks.get(timeout=PATIENCE_S).answers["rests"] > 0
            engine.sql("PAUSE QUERY rests;")
            write_part(tmp_path, 1)
            paused = ticks.get(timeout=PATIENCE_S)
            engine.sql("RESUME QUERY rests;")
            write_part(tmp_path, 2)
            resumed = ticks.get(timeout=PATIENCE_S)
        finally:
            engine.stop()
            runs.join()
        assert paused.answers["rests"] == 0
        assert paused.answers["stays"] > 0
        assert resumed.answers["rests"] > 0
        engine.run("flush")
        check(spark, engine)


@pytest.mark.usefixtures("spark")
def test_a_paused_query_is_not_flushed(tmp_path: Path) -> None:
    write_part(tmp_path, 0)
    with Engine(tmp_path / "home") as engine:
        engine.sql(f"{SCRIPT} PAUSE QUERY rests; PAUSE QUERY stays;", tmp_path)
        report = engine.run("flush")
        assert report.rows_in == len(PARTS[0])
        assert report.queries == {"rests": 0, "stays": 0}
        engine.sql("RESUME QUERY stays;")
        assert engine.run("flush").queries["rests"] == 0
