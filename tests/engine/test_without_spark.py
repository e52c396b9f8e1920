"""Small runs over plain scans never ask for Spark."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill import Engine
from tidemill.connect.packets.packets import PacketModel, make_block
from tidemill.spark import on_demand

SECOND_US = 1_000_000
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


JOINED = """
CREATE TABLE services (port INT, service STRING) SOURCE 'csv:services.csv?header=true';
CREATE TABLE protocols (proto STRING, number BIGINT) SOURCE 'parquet:protocols.parquet';
CREATE STREAM packets (ts TIMESTAMP, proto STRING, port INT, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=100&duration=6s&hosts=9&seed=7';
CREATE QUERY by_service AS
SELECT service, SUM(number) AS n FROM packets [RANGE 2 SECONDS SLIDE 2 SECONDS] AS p
LEFT JOIN services AS s ON p.port = s.port JOIN protocols AS r ON p.proto = r.proto
GROUP BY service;
"""


def test_tables_of_plain_files_are_read_and_joined_without_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_demand, "running_session", lambda: None)
    (tmp_path / "services.csv").write_text("port,service\n80,web\n443,web\n53,dns\n")
    protocols = pa.table({"proto": ["TCP", "UDP", "UDP"], "number": [6, 17, 1]})
    pq.write_table(protocols, tmp_path / "protocols.parquet")
    with Engine(tmp_path / "home") as engine:
        monkeypatch.setattr(engine._spark, "_start", _fail)
        engine.sql(JOINED, tmp_path)
        report = engine.run("flush")
        answers = engine.query("by_service").answers().to_arrow().to_pylist()
    assert report.routes == {"columnar": 1}
    assert {row["service"] for row in answers} == {"web", "dns", None}
    assert all(row["n"] % 6 == 0 for row in answers)


LATE_ONES = """
SET tick_rows = 1;
CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT)
  ORDER BY ts WITH (lateness = '1 second')
  SOURCE 'generate:packets?rate=100&duration=6s&hosts=9&seed=7&disorder=3s';
CREATE QUERY bytes AS
SELECT SUM(length) AS bytes FROM packets [RANGE 2 SECONDS SLIDE 2 SECONDS];
"""


def test_late_rows_that_were_generated_are_set_aside_without_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_demand, "running_session", lambda: None)
    with Engine(tmp_path / "home") as engine:
        monkeypatch.setattr(engine._spark, "_start", _fail)
        engine.sql(LATE_ONES)
        report = engine.run("flush")
    late = pq.read_table(str(report.streams["packets"]["late"]))
    assert set(report.routes) == {"columnar"}
    assert late.schema.names == ["ts", "src", "port", "length"]
    assert late.to_pylist() == _late_rows()
    assert 20 < report.rows_late == len(late) < report.rows_in


def _late_rows() -> list[dict[str, object]]:
    """The rule by itself: each block is a tick, judged by what came before it."""
    model = PacketModel(
        rate=100, duration_us=6 * SECOND_US, hosts=9, seed=7, disorder_us=3 * SECOND_US
    )
    late, watermark = [], None
    for number in range(9):
        rows = make_block(model, number).select(["ts", "src", "port", "length"]).to_pylist()
        late += [row for row in rows if watermark is not None and row["ts"] < watermark]
        newest = max(row["ts"] for row in rows) - timedelta(seconds=1)
        watermark = newest if watermark is None else max(watermark, newest)
    return late


def _fail(master: str | None) -> NoReturn:
    pytest.fail(f"Spark was asked for, on {master}")
