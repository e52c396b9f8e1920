"""A query that moves to another synopsis is delivered and counted from both in one tick."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill import Engine

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
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    times = [begin + timedelta(seconds=second) for second in range(first_s, last_s)]
    rows = {
        "ts": pa.array(times, pa.timestamp("us", "UTC")),
        "k": ["a"] * len(times),
        "n": pa.array(range(len(times)), pa.int64()),
    }
    pq.write_table(pa.table(rows), folder / f"{name}.parquet")
