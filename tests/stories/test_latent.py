"""Streams without a time: their rows pass at once, and windows are over the time of arrival."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill import Engine
from tidemill.clock import ManualClock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

US = 1_000_000
# The same files with a stamp that is a column, and with one that is none.
SCRIPT = """
CREATE STREAM stamped (v INT, host STRING, current_time TIMESTAMP) ORDER BY current_time
  SOURCE 'json:in';
CREATE STREAM raw (v INT, host STRING) SOURCE 'json:in';
CREATE STREAM odd AS SELECT host AS h, v * 2 AS twice FROM raw WHERE v % 2 = 1;
CREATE STREAM late_odd AS SELECT twice + 1 AS more FROM odd WHERE h = 'a';
CREATE TABLE hosts (host STRING, room INT) SOURCE 'csv:hosts.csv';
CREATE SINK rows TO 'json:rows.jsonl';
CREATE QUERY leaving INTO rows AS SELECT * FROM late_odd;
CREATE QUERY joined INTO rows AS SELECT v, room FROM raw JOIN hosts USING (host) WHERE v > 3;
CREATE QUERY latent AS SELECT h, SUM(twice) AS s, COUNT(*) AS n
  FROM odd [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY h;
CREATE QUERY by_column AS SELECT host AS h, SUM(v * 2) AS s, COUNT(*) AS n
  FROM stamped [RANGE 20 SECONDS SLIDE 5 SECONDS] WHERE v % 2 = 1 GROUP BY host;
"""


def test_rows_pass_at_once_and_windows_are_over_their_arrival(
    spark: SparkSession, tmp_path: Path
) -> None:
    clock = ManualClock(100 * US)
    (tmp_path / "in").mkdir()
    (tmp_path / "hosts.csv").write_text("a,1\nb,2\nb,3\n")
    left: list[int] = []
    with Engine(tmp_path / "home", clock=clock) as engine:
        engine.sql(SCRIPT, tmp_path)
        for number, seconds in enumerate((0, 3, 14, -60)):  # the clock is set back at the end
            clock.advance(seconds * US)
            rows = [{"v": 3 * number + n, "host": "ba"[n % 2]} for n in range(3)]
            lines = [*map(json.dumps, rows), "no json"]
            (tmp_path / "in" / f"{number}.json").write_text("\n".join(lines))
            report = engine.run("idle")
            assert (report.rows_in, report.rows_late, report.rows_malformed) == (8, 0, 2)
            left.append(len((tmp_path / "rows.jsonl").read_text().splitlines()))
        engine.run("flush")
        answers = {
            name: sorted(engine.query(name).answers().to_arrow().to_pylist(), key=repr)
            for name in ("latent", "by_column")
        }
    assert answers["latent"] == answers["by_column"]
    assert sum(row["n"] for row in answers["latent"]) == 4 * 6  # each row is in four windows
    assert len({row["window_end"] for row in answers["latent"]}) > 4
    # All rows of a tick are out after it: odd numbers of host a, and a row for each room.
    values = [(v, "ba"[v % 3 % 2]) for v in range(12)]
    expected: list[tuple[object, ...]] = [
        ("leaving", 2 * v + 1) for v, host in values if v % 2 and host == "a"
    ]
    expected += [
        ("joined", v, room)
        for v, host in values
        for room in {"a": (1,), "b": (2, 3)}[host]
        if v > 3
    ]
    text = (tmp_path / "rows.jsonl").read_text()
    leaving = [tuple(json.loads(line).values()) for line in text.splitlines()]
    assert sorted(leaving, key=repr) == sorted(expected, key=repr)
    assert left == [1, 4, 10, 15]
    (malformed,) = (tmp_path / "home").glob("streams/raw/malformed/tick-*1.parquet")
    assert pq.read_table(malformed).to_pylist() == [
        {"record": "no json", "reason": "does not parse"}
    ]


def test_arrays_take_rows_without_a_time(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    values = [*range(-30, 70), None]
    pq.write_table(pa.table({"n": pa.array(values, pa.int64())}), tmp_path / "in" / "a.parquet")
    with Engine(tmp_path / "home", clock=ManualClock(100 * US)) as engine:
        engine.sql(
            "CREATE STREAM raw (n BIGINT) SOURCE 'parquet:in';"
            "CREATE STREAM pos AS SELECT n * 2 AS m FROM raw WHERE n > 0;"
            "CREATE QUERY many AS SELECT m + 1 AS more FROM pos WHERE m > 100;"
            "CREATE QUERY sums AS SELECT COUNT(*) AS c, SUM(m) AS s"
            " FROM pos [RANGE 1 MINUTE SLIDE 1 MINUTE];",
            tmp_path,
        )
        report = engine.run("flush")
        rows = engine.query("many").answers().to_arrow().column("more").to_pylist()
        (sums,) = engine.query("sums").answers().to_arrow().to_pylist()
    assert set(report.routes) == {"columnar"}
    assert rows == [2 * n + 1 for n in range(51, 70)]
    assert (sums["c"], sums["s"]) == (69, sum(2 * n for n in range(1, 70)))
    assert sums["window_start"].timestamp() == 60
