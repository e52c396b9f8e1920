"""A stream that is ahead of its partner is held on disk, up to `held_bytes`.

a   0 ………………………………………… 100 s, a file each ten      b   0 … 5 s, and later the rest
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill import Engine
from tidemill.clock import ManualClock
from tidemill.errors import TidemillError
from tidemill.explain.replies import ReplyTable

START_US, SECOND_US = 1_767_225_600_000_000, 1_000_000
SCRIPT = """
SET tick_files = 1; SET held_bytes = '{most}';
CREATE STREAM a (ts TIMESTAMP, k INT) ORDER BY ts SOURCE 'parquet:a';
CREATE STREAM b (ts TIMESTAMP, k INT) ORDER BY ts SOURCE 'parquet:b';
CREATE STREAM both AS SELECT * FROM a UNION ALL SELECT * FROM b;
CREATE QUERY q AS SELECT k, COUNT(*) AS n FROM both [RANGE 10 s SLIDE 10 s] GROUP BY k;
"""


def write(folder: Path, first_s: int, last_s: int) -> None:
    """A row a tenth of a second, each with a key of its own."""
    folder.mkdir(exist_ok=True)
    tenths = range(first_s * 10, last_s * 10)
    times = pa.array([START_US + t * SECOND_US // 10 for t in tenths], pa.timestamp("us", "UTC"))
    rows = pa.table({"ts": times, "k": pa.array(tenths, pa.int32())})
    pq.write_table(rows, folder / f"{first_s:03}.parquet")


@pytest.fixture
def streams(tmp_path: Path) -> Path:
    for first_s in range(0, 100, 10):
        write(tmp_path / "a", first_s, first_s + 10)
    write(tmp_path / "b", 0, 5)
    return tmp_path


def column(engine: Engine, name: str) -> dict[str, Any]:
    """Of SHOW SOURCES, by source."""
    (table,) = engine.ask("SHOW SOURCES")
    assert isinstance(table, ReplyTable)
    place = list(table.columns).index(name)
    return {row[0]: row[place] for row in table.rows}


def test_a_run_over_what_is_there_ends_and_names_the_laggard(streams: Path) -> None:
    with Engine(streams / "home") as engine:
        engine.sql(SCRIPT.format(most="8 KB"), streams)
        with pytest.raises(TidemillError) as held:
            engine.run("idle")
        assert held.value.problem.code == "E_HELD"
        assert "stream a is ahead of b" in held.value.problem.primary
        before = column(engine, "rows")
        assert 0 < before["a"] < 1_000
        assert before["b"] == 50
        # Once its partner comes it goes on from there, and nothing is lost.
        write(streams / "b", 5, 101)
        report = engine.run("idle")
        assert report.rows_in == 1_000 - before["a"] + 960
        counts = [row["n"] for row in engine.query("q").answers().to_arrow().to_pylist()]
    assert sum(counts) == 2 * 900  # the last ten seconds wait for more


def test_within_the_bound_all_is_taken(streams: Path) -> None:
    with Engine(streams / "home") as engine:
        engine.sql(SCRIPT.format(most="8 GB"), streams)
        assert engine.run("idle").rows_in == 1_050


class Steps(ManualClock):
    """Every sleep of an idle run is a step of the story."""

    def __init__(self, step: Callable[[], None]) -> None:
        super().__init__()
        self._step = step

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self._step()


def test_a_live_run_takes_no_more_of_it_until_its_partner_has_come(streams: Path) -> None:
    states: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def step() -> None:
        states.append((column(engine, "state"), column(engine, "rows")))
        if len(states) == 2:
            assert "waits for b, which is behind" in engine.sql("SHOW SOURCES")[0]
            write(streams / "b", 5, 101)
        if states[-1][1]["a"] == 1_000:
            engine.stop()

    with Engine(streams / "home", clock=Steps(step)) as engine:
        engine.sql(SCRIPT.format(most="8 KB"), streams)
        engine.run("stopped")
    (first, rows), (second, same_rows), *_ = states
    assert first["a"] == second["a"] == "held"
    assert rows == same_rows
    assert rows["a"] < 1_000
    assert states[-1][1] == {"a": 1_000, "b": 1_010}
