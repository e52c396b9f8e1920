"""Row queries against the slow twin, tick by tick: what has left, what waits, and in what order."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.stories.streams import NOON_US, Row, random_row, write_files
from tidemill.engine import Engine
from tidemill.reference.rows import LeavingRows, leaving_rows

SECOND_US = 1_000_000
LATENESS = 5
SCRIPT = f"""
SET tick_files = 1;
SET snapshot_pieces = 2;
CREATE STREAM s (ts TIMESTAMP, g INT, n BIGINT) ORDER BY ts SOURCE 'parquet:in'
  WITH (lateness = '{LATENESS} seconds');
CREATE SINK out TO 'parquet:out';
CREATE QUERY at_once INTO out AS SELECT n FROM s WHERE g <> 2;
CREATE QUERY in_order INTO out AS SELECT n, ts FROM s WHERE g <> 2 ORDER BY ts;
"""
# Seconds and a group; rows of one second tie, and some files bring nothing that counts.
ROWS = st.lists(st.tuples(st.integers(0, 25), st.integers(0, 2)), max_size=6)


def _ticks(files: list[list[tuple[int, int]]]) -> list[list[Row]]:
    """Rows numbered in the order they come."""
    numbers = iter(range(1000))
    return [
        [{"ts": NOON_US + t * SECOND_US, "g": g, "n": next(numbers)} for t, g in rows]
        for rows in files
    ]


def _expected(ticks: list[list[Row]]) -> list[LeavingRows]:
    """Every row moves time, also those that WHERE leaves out."""
    timed = [[(row["ts"], row) for row in rows] for rows in ticks]
    return leaving_rows(timed, LATENESS * SECOND_US)


def _numbers(rows: list[Any]) -> list[int]:
    return [row["n"] for row in rows if row["g"] != 2]


def _column(engine: Engine, query: str) -> list[int]:
    answers: pa.Table = engine.query(query).answers().to_arrow()
    numbers: list[int] = answers.column("n").to_pylist()
    return numbers


@settings(max_examples=15)
@given(st.lists(ROWS.filter(bool), min_size=1, max_size=7), st.data())
@example([[(9, 0)], [(5, 1), (4, 0)], [(4, 1), (3, 1)], [(20, 0), (15, 0)], [(15, 0)]], None)
def test_rows_leave_once_in_order_and_at_rest_are_those_before_the_watermark(
    files: list[list[tuple[int, int]]], data: st.DataObject | None
) -> None:
    ticks = _ticks(files)
    expected = _expected(ticks)
    if data is None:
        assert any(tick.late for tick in expected)
        assert any(tick.waiting for tick in expected)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine = Engine(folder / "home")
        at_once: list[int] = []
        in_order: list[int] = []
        for number, (rows, tick) in enumerate(zip(ticks, expected, strict=True)):
            write_files(folder / "in", [[_whole(row) for row in rows]], first=number)
            if number == 0:
                engine.sql(SCRIPT, folder)
            report = engine.run("idle")
            at_once += _numbers(tick.at_once)
            in_order += _numbers(tick.in_order)
            assert report.rows_in == len(rows)
            assert report.rows_late == tick.late
            assert _column(engine, "at_once") == at_once
            assert _column(engine, "in_order") == in_order
            assert report.streams["s"]["state_rows"] == len(_numbers(tick.waiting))
            if data is not None and data.draw(st.booleans()):
                engine.close()
                engine = Engine(folder / "home")
        engine.run("flush")
        assert _column(engine, "in_order") == in_order + _numbers(expected[-1].waiting)
        assert not list((folder / "home" / "synopses").glob("*/*"))
        engine.close()


def _whole(row: Row) -> Row:
    """With the other columns that files of the stories have."""
    return random_row(random.Random(0), row["ts"]) | row
