"""Aggregates that users write in Python, from their files to answers.

Those of the first story can be said in batch SQL too, so that their answers can be compared with
ones that nobody here computed; arrays in threads, arrays in Spark's tasks and Catalyst all give
them. The others tell what happens when code raises, changes, or comes from Python itself.
"""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.aggregates.broken import text_of
from tests.aggregates.written import TEXT
from tests.stories.oracle import KEYS, Case, Term, compare_all, random_cases
from tests.stories.streams import (
    STREAM,
    cut,
    random_rows,
    table_of,
    write_files,
)
from tidemill.engine import Engine
from tidemill.errors import TidemillError
from tidemill.spark.jobs import LIMITS, Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITTEN = """
CREATE AGGREGATE spread_out SOURCE 'python:written.py';
CREATE AGGREGATE longest SOURCE 'python:written.py#Longest';
CREATE AGGREGATE steps SOURCE 'python:written.py#LastSteps';
CREATE AGGREGATE total SOURCE 'python:written.py';
"""
_PAIR = "MAX(IF(name IS NULL OR m IS NULL, NULL, STRUCT(LENGTH(name) AS l, m AS m)))"
_RESTS = ", ".join(f"COUNT_IF(PMOD(m, 4) = {rest})" for rest in range(4))
TERMS = (
    Term("spread_out(m)", "IF(COUNT(m) > 1, DOUBLE(MAX(m)) - MIN(m), NULL)"),
    Term("spread_out(f, 3)", "IF(COUNT(f) > 2, DOUBLE(MAX(f)) - DOUBLE(MIN(f)), NULL)"),
    Term("spread_out(d)", "IF(COUNT(d) > 1, DOUBLE(MAX(d)) - DOUBLE(MIN(d)), NULL)", odd=True),
    Term("total(m)", "COALESCE(SUM(m), 0L)"),
    Term("total(g * 2)", "COALESCE(SUM(g * 2), 0L)", odd=True),
    Term("longest(name, m)", f"CONCAT({_PAIR}.l, ':', {_PAIR}.m)"),
    Term(
        "steps(m)",
        f"ARRAY(COALESCE(UNIX_MICROS(MAX(IF(m IS NULL, NULL, ts))), {-(2**62)}L), {_RESTS})",
    ),
    Term("COUNT(*)"),
    Term(
        "total(m) / COUNT(*) + spread_out(m)",
        "COALESCE(SUM(m), 0L) / COUNT(*) + IF(COUNT(m) > 1, DOUBLE(MAX(m)) - MIN(m), NULL)",
    ),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "written.py").write_text(TEXT)
    return tmp_path


def cases_of(rng: random.Random, odd: bool) -> Iterator[Case]:
    """Random windows, keys and conditions, with the terms above in place of others."""
    terms = [term for term in TERMS if odd or not term.odd]
    for case in random_cases(rng, "s", 3, 3):
        values = tuple(rng.sample(terms, 3))
        where = case.where if odd or not (case.where and case.where.odd) else None
        keys = case.keys if odd else tuple(key for key in case.keys if key in KEYS[:4])
        yield replace(case, aggregates=values, limit=None, having=None, where=where, keys=keys)


@pytest.mark.parametrize("route", ["catalyst", "threads", "tasks"])
def test_answers_equal_batch(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch, route: str
) -> None:
    rng = random.Random(route)
    rows = random_rows(rng, "disordered", 200)
    write_files(folder / "in", cut(rows, 3))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    cases = list(cases_of(rng, odd=route == "catalyst"))
    if route == "tasks":
        monkeypatch.setitem(LIMITS, "scanned_rows", Limits(0, 0))
    with Engine(folder / "home") as engine:
        scan = "SET scan = 'catalyst';" if route == "catalyst" else ""
        creates = "".join(case.create("out") for case in cases)
        engine.sql(f"{scan}{STREAM}{WRITTEN}{creates}", folder)
        report = engine.run("flush")
        answers = {case.name: engine.query(case.name).answers().to_arrow() for case in cases}
    assert set(report.routes) == {"catalyst" if route == "catalyst" else "columnar"}
    assert not any(report.raised.values())
    compared = compare_all(spark, cases, answers)
    assert compared > 20 * len(cases)


RAISES = text_of(
    arguments='{"x": "BIGINT"}',
    state='{"m": "BIGINT"}',
    returns="BIGINT",
    identity='{"m": 0}',
    lift='{"m": x if 4242 not in x.to_pylist() else 1 // 0}',
)
TWO_QUERIES = """
CREATE AGGREGATE broken SOURCE 'python:broken.py';
CREATE QUERY bad AS SELECT k, broken(m) AS total, COUNT(*) AS rows
FROM s [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY k;
CREATE QUERY good AS SELECT k, SUM(m) AS total FROM s [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY k;
"""


def some_rows(*numbers: int) -> list[dict[str, Any]]:
    rows = random_rows(random.Random(1), "ordered", len(numbers))
    return [{**rows[n], "k": "ab"[n % 2], "m": m} for n, m in enumerate(numbers)]


@pytest.mark.parametrize("scan", ["auto", "catalyst"])
@pytest.mark.usefixtures("spark")
def test_code_that_raises_harms_nobody_else(folder: Path, scan: str) -> None:
    (folder / "broken.py").write_text(RAISES)
    write_files(folder / "in", [some_rows(1, 2, 3, 4242, 5)])
    with Engine(folder / "home") as engine:
        engine.sql(f"SET scan = '{scan}';{STREAM}{TWO_QUERIES}", folder)
        report = engine.run("flush")
        bad, good = (
            engine.query(name).answers().to_arrow().to_pylist() for name in ("bad", "good")
        )
        described = engine.sql("DESCRIBE bad")[0]
    assert {row["k"]: row["total"] for row in good} == {"a": 9, "b": 4244}
    assert {row["k"]: (row["total"], row["rows"]) for row in bad} == {"a": (9, 3), "b": (None, 2)}
    assert report.raised == {"bad": 1, "good": 0}
    assert list(report.troubles) == ["bad"]
    assert "broken.lift: ZeroDivisionError" in report.troubles["bad"]
    assert "(broken.py, line 11: return {" in report.troubles["bad"]
    assert described.endswith(f"-- the first that raised: {report.troubles['bad']}")


def test_a_restart_runs_the_text_that_was_registered(folder: Path) -> None:
    total = text_of(arguments='{"x": "BIGINT"}')
    (folder / "broken.py").write_text(total)
    write_files(folder / "in", [some_rows(1, 2, 3)])
    with Engine(folder / "home") as engine:
        engine.sql(f"{STREAM}{TWO_QUERIES}", folder)
        engine.run("idle")
    (folder / "broken.py").write_text(total.replace('return state["m"]', 'return -state["m"]'))
    write_files(folder / "in", [some_rows(4, 5, 6)], first=1)
    with Engine(folder / "home") as engine:
        engine.run("flush")
        rows = engine.query("bad").answers().to_arrow().to_pylist()
        with pytest.raises(TidemillError, match="broken exists and differs"):
            engine.sql(TWO_QUERIES, folder)
    assert {row["k"]: row["total"] for row in rows} == {"a": 14.0, "b": 7.0}


def test_a_class_is_registered_from_python(folder: Path) -> None:
    spec = importlib.util.spec_from_file_location("written_here", folder / "written.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    write_files(folder / "in", [some_rows(1, 2, 3)])
    with Engine(folder / "home") as engine:
        engine.sql(STREAM, folder)
        # The module is found by its name, as Python does for what was imported.
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(__import__("sys").modules, "written_here", module)
            engine.register(module.Total)
        engine.sql("CREATE QUERY q AS SELECT total(m) AS t FROM s [RANGE 1 HOUR SLIDE 1 HOUR]")
        engine.run("flush")
        assert [row["t"] for row in engine.query("q").answers().to_arrow().to_pylist()] == [6]
        with pytest.raises(TidemillError, match="class int is no aggregate"):
            engine.register(int)


SHARED = """
CREATE QUERY one AS
SELECT k, steps(m) AS s, total(m) AS t FROM s [RANGE 20 s SLIDE 10 s] GROUP BY k;
CREATE QUERY two AS SELECT k, steps(m) AS s FROM s [RANGE 30 s SLIDE 5 s] GROUP BY k;
CREATE QUERY three AS
SELECT k, spread_out(m, least => 3) AS s FROM s [RANGE 20 s SLIDE 10 s] GROUP BY k;
"""


def test_equal_calls_share_a_lane_and_questions_are_answered(folder: Path) -> None:
    (folder / "in").mkdir()
    with Engine(folder / "home") as engine:
        engine.sql(f"{STREAM}{WRITTEN}{SHARED}", folder)
        plan, shared, shown, described = engine.sql(
            "EXPLAIN PLAN QUERY three; EXPLAIN SHARED ALL; SHOW AGGREGATES; DESCRIBE steps"
        )
        (synopsis,) = engine.plan.synopses
    lanes = [lane.sql for lane in synopsis.lanes]
    assert lanes == ["rows(*)", "steps(m, ts)", "total(m)", "spread_out(m, 3)"]
    assert "SPREAD_OUT(m, 3)" in plan
    assert "keeps  rows(*), steps(m, ts), total(m), spread_out(m, 3)" in shared
    listed = [line.split("  ") for line in shown.splitlines()]
    told = {line[0]: [word.strip() for word in line[1:] if word.strip()] for line in listed}
    assert told["sum(x)"][0] == "x: numbers"
    assert told["top(x, k, [sum(y)])"][1] == "ARRAY<STRUCT<value: T, weight: BIGINT>>"
    assert told["approx_top_k(x, k, [error])"][2] == "within bounds"
    assert told["spread_out"][0] == "x DOUBLE, [least = 2]"
    assert "-- called as last_steps(n BIGINT) → ARRAY<BIGINT>" in described
    assert "-- keeps latest TIMESTAMP, counts BIGINT[4]" in described
