"""A flush closes the longest windows of all; soft queries see the update after the last row."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tidemill import Engine
from tidemill.clock import ManualClock
from tidemill.explain.replies import ReplyTable

SECOND_US = 1_000_000
LINES = ("00:00:00", "00:00:03.5"), ("00:00:20", "00:00:21", "00:00:24.25")
# After each file, the end of the update that has its last row.
ENDS_S = 4, 25
SCRIPT = """
SET tick_files = 1;
CREATE STREAM s (ts TIMESTAMP, k STRING) ORDER BY ts SOURCE 'csv:in';
CREATE QUERY soft AS
SELECT k, COUNT(*) AS n FROM s [RANGE 3 SECONDS SLIDE UP TO 2 SECONDS] GROUP BY k;
"""
STRICT = """
CREATE QUERY strict AS SELECT k, COUNT(*) AS n FROM s [RANGE {0} SLIDE {0}] GROUP BY k;
"""
ASK = "SELECT COUNT(*) AS n FROM s [RANGE 2 SECONDS];"
START_S = 1_767_225_600


def write(folder: Path, number: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    lines = (f"2026-01-01 {time},a\n" for time in LINES[number])
    (folder / "in" / f"{number}.csv").write_text("".join(lines))


def last_end_s(engine: Engine) -> float:
    column = engine.query("soft").answers().to_arrow().column("window_end")
    ends: list[int] = column.cast(pa.int64()).to_pylist()
    return max(ends) / SECOND_US - START_S


def late(engine: Engine) -> object:
    (table,) = engine.ask("SHOW SCHEDULE;")
    assert isinstance(table, ReplyTable)
    return table.rows[0][list(table.columns).index("late")]


@pytest.mark.parametrize("strict", ["", "7 SECONDS", "100 WEEKS"])
@pytest.mark.parametrize("change", ["", "SET sharing = 'none';"])
def test_who_else_stands_makes_no_difference_to_the_last_soft_answer(
    tmp_path: Path, strict: str, change: str
) -> None:
    write(tmp_path, 0)
    with Engine(tmp_path / "home", clock=ManualClock()) as engine:
        engine.sql(SCRIPT + (STRICT.format(strict) if strict else ""), tmp_path)
        engine.run("idle")
        engine.sql(change)
        engine.run("flush")
        assert last_end_s(engine) == ENDS_S[0]
        assert late(engine) == 0
        (answer,) = engine.sql(ASK)
        assert answer.splitlines()[2].split()[-1] == "1"
        if strict:
            assert engine.queries["strict"].answers > 0


@pytest.mark.parametrize("strict", ["", "7 SECONDS"])
def test_rows_after_a_flush_are_seen_as_before(tmp_path: Path, strict: str) -> None:
    write(tmp_path, 0)
    with Engine(tmp_path / "home", clock=ManualClock()) as engine:
        engine.sql(SCRIPT + (STRICT.format(strict) if strict else ""), tmp_path)
        engine.run("flush")
        write(tmp_path, 1)
        report = engine.run("flush")
        assert (report.rows_in, report.rows_late) == (3, 0)
        assert last_end_s(engine) == ENDS_S[1]
        assert late(engine) == 0
