"""Streams over streams: answers equal Spark batch SQL over views of the same text.

Nothing of a derived stream is ever stored, so the rows of its source are read once however
many streams are made of it.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.stories.derived import (
    SOURCE,
    OfStream,
    Stream,
    random_queries,
    random_streams,
)
from tests.stories.oracle import Term, batch_answers, compare_all
from tests.stories.streams import STREAM, cut, random_rows, table_of, write_files
from tests.stories.test_tables import TABLES, answers_of, write_tables
from tidemill.engine import Engine
from tidemill.errors import TidemillError
from tidemill.explain.replies import Selection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def see(spark: SparkSession, streams: list[Stream]) -> None:
    """Views for batch SQL."""
    for stream in streams:
        spark.sql(stream.view)


@pytest.mark.parametrize(
    ("seed", "sharing", "scan"),
    [(1, "auto", "auto"), (2, "shared", "catalyst"), (3, "none", "auto")],
)
def test_answers_equal_batch_over_views(
    spark: SparkSession, tmp_path: Path, seed: int, sharing: str, scan: str
) -> None:
    rng = random.Random(seed)
    rows = random_rows(rng, "disordered", 200)
    write_files(tmp_path / "in", cut(rows, 3))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    write_tables(tmp_path, spark, rng, unique=seed != 3)
    streams = random_streams(rng, 12)
    see(spark, streams)
    cases = list(random_queries(rng, [SOURCE, *streams], 2))
    modes = f"SET sharing = '{sharing}'; SET scan = '{scan}';"
    script = [
        STREAM,
        TABLES,
        modes,
        *(s.create for s in streams),
        *(c.create("out") for c in cases),
    ]
    with Engine(tmp_path / "home") as engine:
        engine.sql("\n".join(script), tmp_path)
        report = engine.run("flush")
        answers = answers_of(engine, cases)
    assert (report.rows_in, report.rows_late, report.rows_malformed) == (len(rows), 0, 0)
    assert not any(report.raised.values())
    compared = compare_all(spark, cases, answers)
    assert compared == sum(report.queries.values())
    assert compared > 10 * len(cases)
    assert sum(1 for case in cases if len(answers[case.name])) > 0.6 * len(cases)
    assert all(len(answers[case.name]) == 0 for case in cases if case.stream == "v7")


STREAMS = [
    Stream("long", "at", {}, "SELECT ts AS at, k, m AS size, b FROM s WHERE m > 5"),
    Stream("sized", "at", {}, "SELECT at, UPPER(k) AS k, size % 7 AS rest, b FROM long"),
    Stream("sure", "at", {}, "SELECT *, rest + 1 AS more FROM sized WHERE b"),
]
FIXED = OfStream(
    name="fixed",
    stream="sure",
    range_ms=20_000,
    slide_ms=10_000,
    start_ms=0,
    keys=(Term("k"),),
    aggregates=(Term("COUNT(*)"), Term("SUM(more)"), Term("MAX(rest)")),
    where=None,
    having=None,
    descending=False,
    limit=None,
    time="at",
)
LAST = "SELECT k, COUNT(*) AS n FROM sure [RANGE 1 HOUR SLIDE 5 s] GROUP BY k"
SOFT = f"CREATE QUERY soft AS {LAST.replace('SLIDE', 'SLIDE UP TO')};"


def test_a_home_with_streams_is_opened_again(spark: SparkSession, tmp_path: Path) -> None:
    """Between two runs a stream comes and one goes; one-time and soft queries read them too."""
    rows = random_rows(random.Random(7), "ordered", 240)
    parts = cut(rows, 6)
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    see(spark, STREAMS)
    write_files(tmp_path / "in", parts[:3])
    creates = [stream.create for stream in STREAMS]
    with Engine(tmp_path / "home") as engine:
        spare = "CREATE STREAM spare AS SELECT * FROM long;"
        engine.sql("".join([STREAM, *creates, spare, FIXED.create("out"), SOFT]), tmp_path)
        before = engine.run("idle")
    write_files(tmp_path / "in", parts[3:], first=3)
    with Engine(tmp_path / "home") as engine:
        replies = engine.sql("".join(["DROP STREAM spare;", *creates, "SHOW STREAMS;"]), tmp_path)
        assert "stream sized" in replies[-1]
        after = engine.run("idle")
        (selected,) = engine.ask(LAST)
        engine.run("flush")
        answers = answers_of(engine, [FIXED])
        soft = engine.query("soft").answers().to_arrow()
        with pytest.raises(TidemillError, match="stream sized is used by streams"):
            engine.sql("DROP STREAM sized")
        engine.sql("DROP QUERY fixed; DROP QUERY soft; DROP STREAM sure; DROP STREAM sized;")
    assert before.rows_in == sum(map(len, parts[:3]))
    assert before.rows_in + after.rows_in == len(rows)
    assert FIXED.compare(answers["fixed"], batch_answers(spark, FIXED)) > 20
    assert isinstance(selected, Selection)
    assert sum(selected.rows.column("n").to_pylist()) > 0
    assert len(soft) > 0
