"""Streams over streams: answers equal Spark batch SQL over views of the same text.

Nothing of a derived stream is ever stored, so the rows of its source are read once however
many streams are made of it.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.stories.derived import SOURCE, Stream, random_queries, random_streams
from tests.stories.oracle import compare_all
from tests.stories.streams import (
    SECOND_US,
    STREAM,
    Row,
    cut,
    random_rows,
    table_of,
    write_files,
)
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
    ("seed", "sharing", "scan", "members"),
    # Without sharing every query is a pass of its own, so there are fewer of them.
    [(1, "auto", "auto", 2), (2, "shared", "catalyst", 2), (3, "none", "auto", 1)],
)
def test_answers_equal_batch_over_views(
    spark: SparkSession, tmp_path: Path, seed: int, sharing: str, scan: str, members: int
) -> None:
    rng = random.Random(seed)
    rows = random_rows(rng, "disordered", 200)
    write_files(tmp_path / "in", cut(rows, 3))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    write_tables(tmp_path, spark, rng, unique=seed != 3)
    streams = random_streams(rng, 12)
    see(spark, streams)
    cases = list(random_queries(rng, [SOURCE, *streams], members))
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


STREAMS = """
CREATE STREAM long AS SELECT ts AS at, k, m AS size, b FROM s WHERE m > 5;
CREATE STREAM sized AS SELECT at, k AS who, size, b FROM long WHERE size < 90;
CREATE STREAM sure AS SELECT * FROM sized WHERE b;
"""
LAST = "SELECT who, COUNT(*) AS n, SUM(size) AS m FROM sure [RANGE 20 s SLIDE 10 s] GROUP BY who"
SOFT = f"CREATE QUERY soft AS {LAST.replace('SLIDE', 'SLIDE UP TO')};"


def plain_answers(rows: list[Row]) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Of `LAST`, by a loop over the rows."""
    answers: dict[tuple[Any, ...], tuple[int, int]] = {}
    for row in rows:
        if row["b"] and row["m"] is not None and 5 < row["m"] < 90:
            last_us = row["ts"] // (10 * SECOND_US) * 10 * SECOND_US
            for start_us in (last_us - 10 * SECOND_US, last_us):
                count, total = answers.get((start_us, row["k"]), (0, 0))
                answers[start_us, row["k"]] = count + 1, total + row["m"]
    return answers


def test_a_home_with_streams_is_opened_again(tmp_path: Path) -> None:
    """Between two runs a stream goes; one-time and soft queries read them too."""
    rows = random_rows(random.Random(7), "ordered", 240)
    parts = cut(rows, 6)
    write_files(tmp_path / "in", parts[:3])
    spare = "CREATE STREAM spare AS SELECT * FROM long;"
    with Engine(tmp_path / "home") as engine:
        query = f"CREATE QUERY q INTO out AS {LAST};"
        engine.sql("".join([STREAM, STREAMS, spare, query, SOFT]), tmp_path)
        before = engine.run("idle")
    write_files(tmp_path / "in", parts[3:], first=3)
    with Engine(tmp_path / "home") as engine:
        replies = engine.sql(f"DROP STREAM spare; {STREAMS} SHOW STREAMS;", tmp_path)
        after = engine.run("idle")
        (selected,) = engine.ask(LAST.replace("20 s", "5 s"))
        engine.run("flush")
        answers = engine.query("q").answers().to_arrow().to_pylist()
        soft = engine.query("soft").answers().to_arrow()
        with pytest.raises(TidemillError, match="stream sized is used by streams"):
            engine.sql("DROP STREAM sized")
        engine.sql("DROP QUERY q; DROP QUERY soft; DROP STREAM sure; DROP STREAM sized;")
    assert [row.split()[:2] for row in str(replies[-1]).splitlines()[2:]] == [
        ["s", "ts"],
        *(["long", "at"], ["sized", "at"], ["sure", "at"]),
    ]
    assert before.rows_in == sum(map(len, parts[:3]))
    assert before.rows_in + after.rows_in == len(rows)
    told = {
        (int(a["window_start"].timestamp()) * SECOND_US, a["who"]): (a["n"], a["m"])
        for a in answers
    }
    assert told == plain_answers(rows)
    assert len(told) > 20
    assert isinstance(selected, Selection)
    assert len(selected.rows) > 0
    assert len(soft) > 0


HOUR = "[RANGE 1 h SLIDE 1 h]"
OVERFLOWS = f"""
CREATE STREAM large AS SELECT ts, k, m, n + n AS doubled FROM s WHERE m > 5;
CREATE QUERY of_large AS SELECT k, MAX(doubled) AS d FROM large {HOUR} GROUP BY k;
CREATE QUERY of_some AS SELECT MAX(n + n) AS d FROM s {HOUR} WHERE k = 'a';
CREATE QUERY of_both AS SELECT MIN(doubled) AS d FROM large {HOUR} WHERE k = 'a';
CREATE QUERY of_all AS SELECT SUM(m) AS m, MAX(n + n) AS d FROM s {HOUR};
CREATE QUERY asked AS SELECT COUNT(*) AS c FROM large {HOUR} WHERE doubled > 0;
"""


def check_what_raises(folder: Path, modes: str, route: str) -> None:
    rows = random_rows(random.Random(9), "ordered", 240)
    write_files(folder / "in", cut(rows, 3))
    with Engine(folder / "home") as engine:
        engine.sql(f"{STREAM} {modes} {OVERFLOWS}", folder)
        report = engine.run("flush")
    raising = [row for row in rows if row["n"] in (2**63 - 1, -(2**63), 2**62)]
    in_stream = [row for row in raising if (row["m"] or 0) > 5]
    assert report.raised == {
        "of_large": len(in_stream),
        "of_some": sum(row["k"] == "a" for row in raising),
        "of_both": sum(row["k"] == "a" for row in in_stream),
        "of_all": len(raising),
        "asked": len(in_stream),
    }
    assert set(report.routes) == {route}
    assert 0 < len(in_stream) < len(raising)


@pytest.mark.parametrize("sharing", ["auto", "shared", "none"])
def test_rows_outside_a_stream_raise_nothing(tmp_path: Path, sharing: str) -> None:
    check_what_raises(tmp_path, f"SET sharing = '{sharing}';", "columnar")


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("sharing", ["auto", "none"])
def test_rows_outside_a_stream_raise_nothing_in_catalyst(tmp_path: Path, sharing: str) -> None:
    check_what_raises(tmp_path, f"SET scan = 'catalyst'; SET sharing = '{sharing}';", "catalyst")
