"""The set of queries changes between runs; what stays goes on, what is new is right."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.stories.oracle import Case, Term, batch_answers
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
from tidemill.engine.tick.deliver import Deliverer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = f"""
CREATE SINK out TO 'parquet:out';
CREATE SINK aside TO 'discard:';
CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in';
"""
STAYS = Case(
    name="stays",
    stream="s",
    range_ms=10_000,
    slide_ms=5_000,
    start_ms=0,
    keys=(Term("k"),),
    aggregates=(Term("COUNT(*)"), Term("SUM(d)")),
    where=None,
    having=None,
    descending=False,
    limit=None,
)
CHANGES = replace(STAYS, name="changes", range_ms=6_000, slide_ms=3_000)
# Of another shape, so that it is delivered apart from the others.
APART = replace(STAYS, name="apart", aggregates=(Term("MAX(m)"),))


def rows_of(seconds: range) -> list[Row]:
    rng = random.Random(seconds.start)
    return [random_row(rng, NOON_US + n * SECOND_US) for n in seconds]


def answers_of(engine: Engine, name: str) -> pa.Table:
    return engine.query(name).answers().to_arrow()


def test_a_replaced_query_leaves_its_old_slices_to_the_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Both share slices at first; then one of them groups by something else."""
    first, second = rows_of(range(60)), rows_of(range(60, 120))
    write_files(tmp_path / "in", cut(first, 2))
    changed = replace(CHANGES, keys=(Term("g"), Term("b")), where=Term("m > 5"))
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + STAYS.create("out") + CHANGES.create("aside"), tmp_path)
        engine.run("idle")
    write_files(tmp_path / "in", cut(second, 2), first=2)
    with Engine(tmp_path / "home") as engine:
        statement = changed.create("out").replace("CREATE", "CREATE OR REPLACE")
        (reply,) = engine.sql(statement, tmp_path)
        assert reply == "query changes: its first window starts at 2024-03-01T12:01:00Z"
    with Engine(tmp_path / "home") as engine:  # and the home says the same when read again
        engine.run("flush")
        spark.createDataFrame(table_of(first + second)).createOrReplaceTempView("s")
        assert STAYS.compare(answers_of(engine, "stays"), batch_answers(spark, STAYS)) > 50
        whole = batch_answers(spark, changed)
        later = whole.filter(pc.greater_equal(whole.column("s"), NOON_US + 60 * SECOND_US))
        assert changed.compare(answers_of(engine, "changes"), later) > 50
        engine.sql("DROP QUERY stays;")
        assert engine.run("flush").queries == {"changes": 0}


@pytest.mark.usefixtures("spark")
def test_a_home_opens_though_a_dropped_query_left_its_sink(tmp_path: Path) -> None:
    write_files(tmp_path / "in", [rows_of(range(30))])
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + STAYS.create("out") + CHANGES.create("aside"), tmp_path)
        engine.run("idle")
        engine.sql("DROP QUERY changes; DROP SINK aside;")
    with Engine(tmp_path / "home") as engine:
        assert [query.name for query in engine.plan.queries] == ["stays"]
        assert engine.run("flush").queries["stays"] > 0


@pytest.mark.usefixtures("spark")
def test_a_flush_does_not_wait_for_windows_of_dropped_queries(tmp_path: Path) -> None:
    """A flush closes up to the last answered window; rows after that are not late."""
    write_files(tmp_path / "in", [rows_of(range(20))])
    day = replace(CHANGES, range_ms=86_400_000, slide_ms=86_400_000)
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + STAYS.create("out") + day.create("aside"), tmp_path)
        engine.run("idle")
        engine.sql("DROP QUERY changes;")
        engine.run("flush")
        write_files(tmp_path / "in", [rows_of(range(40, 60))], first=1)
        report = engine.run("flush")
    assert (report.rows_in, report.rows_late) == (20, 0)
    assert report.queries["stays"] > 0


@pytest.mark.parametrize("sink", ["parquet:out", "json:lines", "memory:"])
def test_a_failed_delivery_is_made_up_for_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sink: str
) -> None:
    """The first query is delivered, the second fails; the same engine is then run again."""
    rows = rows_of(range(30))
    write_files(tmp_path / "in", [rows])
    deliver = Deliverer._deliver
    calls: list[tuple[str, ...]] = []

    def fail_once(self: Deliverer, tick: int, request: Any, buckets: Any) -> None:
        calls.append(request.batch.queries)
        if len(calls) == 2:
            raise OSError("disk full")
        deliver(self, tick, request, buckets)

    monkeypatch.setattr(Deliverer, "_deliver", fail_once)
    script = STREAM.replace("parquet:out", sink) + STAYS.create("out") + APART.create("out")
    with Engine(tmp_path / "home") as engine:
        engine.sql(script, tmp_path)
        with pytest.raises(OSError, match="disk full"):
            engine.run("idle")
        counts = engine.run("flush").queries
        if sink == "json:lines":
            assert len((tmp_path / "lines").read_text().splitlines()) == sum(counts.values())
            return
        spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
        for case in (STAYS, APART):
            rows_seen = case.compare(answers_of(engine, case.name), batch_answers(spark, case))
            assert rows_seen == counts[case.name] > 20
