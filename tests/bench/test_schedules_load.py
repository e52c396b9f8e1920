"""Soft queries of the benchmark: as asked for, with files that come when they should."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow.parquet as pq
from _schedules.live import _Change
from _schedules.load import GROUPS, Pace, make_soft, write_updates

from tidemill.language import parse_script
from tidemill.schedule import History


def test_windows_and_periods_are_those_of_the_study() -> None:
    queries = make_soft(240)
    assert {query.keys for query in queries} == set(GROUPS)
    assert all(20 <= query.window <= 100 for query in queries)
    assert all(1 <= query.period <= query.window // 2 for query in queries)
    assert make_soft(24) == queries[:24]
    assert len(parse_script("\n".join(query.sql for query in queries))) == 240


def test_a_file_closes_its_own_update(tmp_path: Path) -> None:
    first, second = (pq.read_table(path) for path in write_updates(tmp_path / "in", 2, 50))
    last, following = first["ts"][-1].as_py(), second["ts"][0].as_py()
    assert (last.microsecond, len(first)) == (0, 50)
    assert last < following


def test_files_come_at_even_times(tmp_path: Path) -> None:
    pool, folder = tmp_path / "pool", tmp_path / "in"
    folder.mkdir()
    pace, started = Pace(folder, write_updates(pool, 9, 2), 0.02), time.perf_counter()
    seen = [len(list(folder.iterdir())) for _ in pace.follow(0.1)]
    assert seen == [0, 1, 2, 3, 4]
    assert time.perf_counter() - started >= 0.1


def test_waiting_at_the_end_counts_as_late() -> None:
    before = History().after(10, period=2, now_us=0, together=1, at=10)
    after = before.after(12, period=2, now_us=0, together=1, at=12)
    change = _Change.of(before, after, update=20, period=2)
    assert (change.runs, change.useful, change.extra) == (1, 1.0, 6)
