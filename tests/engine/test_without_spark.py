"""Small runs over plain scans never ask for Spark."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from tidemill import Engine
from tidemill.spark import on_demand

SCRIPT = """
CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=100&duration=6s&hosts=9&seed=7';
CREATE QUERY busiest AS
SELECT src, SUM(length) AS bytes FROM packets [RANGE 4 SECONDS SLIDE 2 SECONDS]
GROUP BY src ORDER BY bytes DESC LIMIT 1;
CREATE QUERY long_ones AS
SELECT COUNT(*) AS packets FROM packets [RANGE 2 SECONDS SLIDE 2 SECONDS] WHERE length > 700;
CREATE QUERY short_ones AS
SELECT COUNT(*) AS packets FROM packets [RANGE 2 SECONDS SLIDE 2 SECONDS] WHERE length < 100;
"""


def test_generated_rows_are_registered_sampled_scanned_and_answered_without_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_demand, "running_session", lambda: None)
    notices: list[str] = []
    with Engine(tmp_path / "home", notice=notices.append) as engine:
        monkeypatch.setattr(engine._spark, "_start", _fail)
        engine.sql(SCRIPT)
        report = engine.run("flush")
    assert report.routes == {"columnar": 1}
    assert report.queries == {"busiest": 4, "long_ones": 3, "short_ones": 3}
    assert not [notice for notice in notices if notice.startswith(on_demand.STARTING_SPARK)]


def _fail(master: str | None) -> NoReturn:
    pytest.fail(f"Spark was asked for, on {master}")
