"""Runs that go on where the last one stopped, queries that come and go, state that stays small."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.stories.oracle import Case, Term, batch_answers, compare_all, random_cases
from tests.stories.streams import (
    NOON_US,
    SECOND_US,
    STREAM,
    cut,
    random_row,
    random_rows,
    table_of,
    write_files,
)
from tidemill.engine import Engine, RunReport, TickReport
from tidemill.errors import TidemillError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_once(folder: Path, statements: str, until: str) -> tuple[list[str], RunReport]:
    """What `tidemill run` does: a fresh engine on the same home."""
    with Engine(folder / "home") as engine:
        replies = engine.sql(statements, folder)
        return replies, engine.run(until)


def answers_of(folder: Path, cases: list[Case]) -> dict[str, pa.Table]:
    with Engine(folder / "home") as engine:
        return {case.name: engine.query(case.name).answers().to_arrow() for case in cases}


def test_ten_runs_over_a_growing_folder_equal_one(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(21)
    rows = random_rows(rng, "disordered", 200)
    cases = list(random_cases(rng, "s", families=2, members=3))
    script = STREAM + "\n".join(case.create("out") for case in cases)
    reports = []
    for number, part in enumerate(cut(rows, 10)):
        write_files(tmp_path / "in", [part], first=number)
        reports.append(run_once(tmp_path, script, "flush" if number == 9 else "idle")[1])

    assert [report.ticks for report in reports] == [1] * 9 + [2]
    assert sum(report.rows_in for report in reports) == len(rows)
    assert sum(sum(report.queries.values()) > 0 for report in reports) > 3
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    answers = answers_of(tmp_path, cases)
    assert compare_all(spark, cases, answers) > 60


LONG = Case(
    name="long",
    stream="s",
    range_ms=20_000,
    slide_ms=4_000,
    start_ms=1_000,
    keys=(Term("k"),),
    aggregates=(Term("COUNT(*)"), Term("SUM(d)"), Term("MAX(x)")),
    where=None,
    having=None,
    descending=False,
    limit=None,
)


def files_of_state(folder: Path) -> int:
    return sum(1 for _ in (folder / "home" / "synopses").rglob("*.arrow"))


@dataclass
class FileCounter:
    """Called after every tick: how many pieces lie on disk."""

    folder: Path
    counts: list[int]

    def __call__(self, _: TickReport) -> None:
        self.counts.append(files_of_state(self.folder))


def test_state_stays_bounded_over_many_ticks_and_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Sixty ticks of five seconds each against windows of twenty."""
    rng = random.Random(22)
    times = [NOON_US + n * SECOND_US // 2 for n in range(600)]
    rows = [random_row(rng, t) for t in times]
    parts = cut(rows, 60)
    script = STREAM + "SET snapshot_pieces = 3;" + LONG.create("out")
    most_rows, most_files = 0, 0
    write_files(tmp_path / "in", parts[:30])
    for first, until in ((30, "idle"), (60, "flush")):
        with Engine(tmp_path / "home") as engine:
            engine.sql(script, tmp_path)
            counts: list[int] = []
            report = engine.run(until, FileCounter(tmp_path, counts))
        assert len(counts) == report.ticks == (30 if until == "idle" else 31)
        most_files = max(most_files, *counts)
        most_rows = max(most_rows, int(str(report.streams["s"]["state_rows"])))
        if first == 30:
            write_files(tmp_path / "in", parts[30:], first=30)

    # Windows of 20 s over slices of 4 s, the lateness and a tick or two: under 20 slices live
    # at any time, times six groups; sixty ticks would have left over a hundred slices.
    assert 0 < most_files <= 2 * (3 + 2) * 2
    assert most_rows <= 20 * 6 * 2
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    (answers,) = answers_of(tmp_path, [LONG]).values()
    assert LONG.compare(answers, batch_answers(spark, LONG)) > 300


def test_queries_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    """A query that joins a running stream starts at the window its reply names."""
    rng = random.Random(23)
    rows = [random_row(rng, NOON_US + n * SECOND_US) for n in range(120)]
    parts = cut(rows, 4)
    old, new = random_cases(rng, "s", families=1, members=2)
    old = Case(**{**vars(LONG), "name": "old"})
    new = Case(**{**vars(LONG), "name": "new", "slide_ms": 3_000, "where": Term("m > 0")})
    write_files(tmp_path / "in", parts[:2])
    first = run_once(tmp_path, STREAM + old.create("out"), "idle")
    assert first[0] == []

    write_files(tmp_path / "in", parts[2:], first=2)
    replies, report = run_once(tmp_path, STREAM + new.create("out"), "flush")
    newest_us = rows[len(parts[0]) + len(parts[1]) - 1]["ts"]
    start_us = NOON_US + 61 * SECOND_US  # the next multiple of 3 s, shifted by 1 s
    assert newest_us < start_us <= newest_us + 3 * SECOND_US
    assert replies == ["query new: its first window starts at 2024-03-01T12:01:01Z"]
    assert set(report.queries) == {"old", "new"}

    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    answers = answers_of(tmp_path, [old, new])
    assert old.compare(answers["old"], batch_answers(spark, old)) > 50
    whole = batch_answers(spark, new)
    later = whole.filter(pc.greater_equal(whole.column("s"), start_us))
    assert len(whole) > new.compare(answers["new"], later) > 20

    with Engine(tmp_path / "home") as engine:
        engine.sql("DROP QUERY old;", tmp_path)
        assert "old" not in engine.sql("SHOW QUERIES;")[0]
        with pytest.raises(TidemillError, match="old"):
            engine.query("old")
        write_files(tmp_path / "in", [[random_row(rng, NOON_US + 999 * SECOND_US)]], first=4)
        assert set(engine.run("flush").queries) == {"new"}
