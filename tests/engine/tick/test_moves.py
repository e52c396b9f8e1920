"""A query that moves to another synopsis is delivered and counted from both in one tick."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill import Engine
from tidemill.share import SharedPlan

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SCRIPT = """
SET tick_files = 1;
CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) ORDER BY ts SOURCE 'parquet:{folder}';
CREATE QUERY sums AS SELECT k, SUM(n) AS total FROM s [RANGE 8 SECONDS SLIDE 2 SECONDS] GROUP BY k;
CREATE QUERY counts AS SELECT k, COUNT(*) AS n FROM s [RANGE 6 SECONDS SLIDE 3 SECONDS] GROUP BY k;
"""


def test_a_tick_with_windows_of_two_synopses_loses_none(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    _write(folder, "a", 0, 20)
    batches: list[pa.Table] = []
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT.format(folder=folder))
        engine.query("sums").subscribe(batches.append)
        engine.run()
        _write(folder, "b", 20, 60)
        engine.sql("SET sharing = 'none';")
        assert len(engine.plan.stints["sums"]) == 2
        before, ticks = len(batches), engine.run()
        assert ticks.queries["sums"] > 0
        answers = engine.query("sums").answers().to_arrow()
        state = engine.queries["sums"]
    # Both stints had windows in the one tick after the move.
    assert len(batches) == before + 1
    assert pa.concat_tables(batches).sort_by("window_start").equals(answers.sort_by("window_start"))
    assert state.answers == len(answers)


def _write(folder: Path, name: str, first_s: int, last_s: int) -> None:
    times = [BEGIN + timedelta(seconds=second) for second in range(first_s, last_s)]
    rows = {
        "ts": pa.array(times, pa.timestamp("us", "UTC")),
        "k": ["a"] * len(times),
        "n": pa.array(range(len(times)), pa.int64()),
    }
    pq.write_table(pa.table(rows), folder / f"{name}.parquet")


BACK_AND_FORTH = """
SET tick_files = 1;
CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) ORDER BY ts SOURCE 'parquet:{folder}';
CREATE SINK out TO '{sink}';
CREATE QUERY strict INTO out AS SELECT k, SUM(n) AS total FROM s [RANGE 40 s SLIDE 2 s] GROUP BY k;
CREATE QUERY soft INTO out AS SELECT k, SUM(n) AS total FROM s [RANGE 40 s SLIDE UP TO 2 s]
GROUP BY k;
"""


@pytest.mark.parametrize("sink", ["memory:", "parquet:out"])
def test_a_query_that_comes_back_to_a_synopsis_is_answered_once(tmp_path: Path, sink: str) -> None:
    """It reads the synopsis in two stints, and others have windows open in between."""
    folder = tmp_path / "in"
    folder.mkdir()
    _write(folder, "a", 0, 20)
    with Engine(tmp_path / "home") as engine:
        engine.sql(BACK_AND_FORTH.format(folder=folder, sink=sink), tmp_path)
        engine.run()
        engine._registry.replace_plan(_come_back(engine.plan))
        _write(folder, "b", 20, 40)
        engine.run()
        assert [len(stints) for stints in engine.plan.stints.values()] == [2, 2]
        engine.run("flush")
        tables = [engine.query(name).answers().to_arrow() for name in ("strict", "soft")]
    for table in tables:
        rows = table.to_pylist()
        assert len({row["window_start"] for row in rows}) == len(rows) > 2
        for row in rows:
            first, last = (_second(row[bound]) for bound in ("window_start", "window_end"))
            seconds = range(max(0, first), min(last, 40))
            assert row["total"] == sum(second if second < 20 else second - 20 for second in seconds)


def _come_back(plan: SharedPlan) -> SharedPlan:
    """The plan, with each query in two stints of its synopsis, one after the other."""
    at_us = int((BEGIN + timedelta(seconds=15)).timestamp() * 1_000_000)
    stints = {
        name: (replace(stint, until_us=at_us), replace(stint, from_us=at_us))
        for name, (stint,) in plan.stints.items()
    }
    return replace(plan, stints=stints, version=plan.version + 1)


def _second(time: datetime) -> int:
    return round((time - BEGIN).total_seconds())
