"""Sources that are not folders of Parquet: generated, replayed, and stamped on arrival."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tidemill import Engine
from tidemill.clock import ManualClock

US = 1_000_000
COUNTS = "SELECT COUNT(*) AS n FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS]"


def record(path: Path, seconds: range) -> None:
    """One row a second, and one without a time."""
    times = [second * US for second in seconds]
    table = pa.table({"ts": pa.array([*times, None], pa.timestamp("us", tz="UTC"))})
    pq.write_table(table, path)


def test_a_recording_arrives_at_its_pace(spark: SparkSession, tmp_path: Path) -> None:
    """Ten times faster: 60 s of rows need 6 s of the clock, which moves half a second a poll."""
    record(tmp_path / "rec.parquet", range(60))
    clock = ManualClock()
    with Engine(tmp_path / "home", clock=clock) as engine:
        engine.sql(
            "CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'replay:rec.parquet?speed=10';"
            f"CREATE QUERY q AS {COUNTS};",
            tmp_path,
        )
        report = engine.run("flush")
        answers = engine.query("q").answers().to_arrow()
    assert 5_900_000 <= clock.now_us() <= 7_000_000
    assert report.ticks > 10
    assert (report.rows_in, report.rows_malformed, report.rows_late) == (61, 1, 0)
    assert answers.column("n").to_pylist() == [10] * 6


def write_recording(folder: Path) -> pa.Table:
    """Files that overlap, in parts; some rows without a time or with one that nobody can use."""
    dice = random.Random(9)
    folder.mkdir()
    tables = []
    for number in range(6):
        times: list[int | None] = [
            (number * 40 + dice.randrange(90)) * US + dice.randrange(3) for _ in range(300)
        ]
        times[number::50] = [None] * len(times[number::50])
        columns = {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "n": pa.array([number * 1000 + place for place in range(300)], pa.int32()),
        }
        tables.append(pa.table(columns))
        pq.write_table(
            tables[-1],
            folder / f"{number}.parquet",
            row_group_size=70,
            write_statistics=number != 4,
        )
    return pa.concat_tables(tables)


def test_arrays_and_spark_play_a_recording_alike(spark: SparkSession, tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "rec")
    outcomes = []
    for scan in ("auto", "catalyst"):
        with Engine(tmp_path / scan) as engine:
            engine.sql(
                f"SET scan = '{scan}'; SET tick_rows = 100;"
                "CREATE STREAM s (ts TIMESTAMP, n INT) ORDER BY ts SOURCE 'replay:rec?speed=0';"
                "CREATE QUERY rows AS SELECT ts, n + 1 AS next FROM s WHERE n <> 7 ORDER BY ts;"
                "CREATE QUERY sums AS SELECT COUNT(*) AS rows, SUM(n) AS n"
                " FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS];",
                tmp_path,
            )
            report = engine.run("flush")
            answers = [engine.query(name).answers().to_arrow() for name in ("rows", "sums")]
        aside = pq.read_table(tmp_path / scan / "streams" / "s" / "malformed")
        told = report.rows_in, report.rows_malformed, report.rows_late, report.ticks
        texts = sorted(aside["record"].to_pylist())
        outcomes.append((told, [sorted(map(repr, t.to_pylist())) for t in answers], texts))
        assert set(report.routes) == {"columnar" if scan == "auto" else "catalyst"}
        assert report.ticks > 15
    assert outcomes[0] == outcomes[1]
    told, (rows, sums), texts = outcomes[0]
    timed = recording.filter(pc.is_valid(recording["ts"]))
    assert told[:3] == (len(recording), len(recording) - len(timed), 0)
    assert len(texts) == 36
    kept = timed.filter(pc.not_equal(timed["n"], 7))
    assert rows == sorted(repr({"ts": row["ts"], "next": row["n"] + 1}) for row in kept.to_pylist())
    assert len(sums) > 40


def test_a_generated_stream_goes_at_the_pace_of_the_clock(
    spark: SparkSession, tmp_path: Path
) -> None:
    clock = ManualClock()
    with Engine(tmp_path / "home", clock=clock) as engine:
        engine.sql(
            "CREATE STREAM s (ts TIMESTAMP, src STRING) ORDER BY ts"
            " SOURCE 'generate:packets?rate=50&seed=3&pace=4';"
            f"CREATE QUERY q AS {COUNTS};"
        )

        def stop_after_a_minute(_: object) -> None:
            if clock.now_us() >= 15 * US:
                engine.stop()

        report = engine.run("stopped", stop_after_a_minute)
        counts = engine.query("q").answers().to_arrow().column("n").to_pylist()
    # A quarter of a minute at four times the pace is a minute of the stream.
    assert 15 * US <= clock.now_us() <= 17 * US
    assert len(counts) == 5
    assert sum(counts) < report.rows_in < 2 * 60 * 50


def test_rows_are_stamped_with_the_time_of_their_tick(spark: SparkSession, tmp_path: Path) -> None:
    clock = ManualClock(100 * US)
    (tmp_path / "in").mkdir()
    with Engine(tmp_path / "home", clock=clock) as engine:
        engine.sql(
            "CREATE STREAM s (host STRING, current_time TIMESTAMP) ORDER BY current_time"
            " SOURCE 'json:in';"
            "CREATE QUERY q AS SELECT host, COUNT(*) AS n, MAX(current_time) AS latest"
            " FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY host;",
            tmp_path,
        )
        for number, seconds in enumerate((0, 5, 20)):
            clock.advance(seconds * US)
            (tmp_path / "in" / f"{number}.json").write_text('{"host": "a"}\n{"host": "b"}\n')
            engine.run("idle")
        clock.advance(-60 * US)  # the machine's clock is set back; arrival time is not
        (tmp_path / "in" / "3.json").write_text('{"host": "a"}\n')
        report = engine.run("flush")
        rows = engine.query("q").answers().to_arrow().sort_by("window_start").to_pylist()
    assert report.rows_late == 0
    found = [(r["host"], r["n"], r["window_start"].second, r["latest"].second) for r in rows]
    # Ticks at 1:40 and 1:45, then two at 2:05.
    assert sorted(found) == [("a", 2, 0, 5), ("a", 2, 40, 45), ("b", 1, 0, 5), ("b", 2, 40, 45)]


def test_lines_of_text_are_new_input_file_by_file(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.log").write_text("GET /a\nPOST /b\n\nGET /c\n")
    clock = ManualClock()
    with Engine(tmp_path / "home", clock=clock) as engine:
        engine.sql(
            "CREATE STREAM s (line STRING, current_time TIMESTAMP) ORDER BY current_time"
            " SOURCE 'lines:in';"
            "CREATE QUERY q AS SELECT COUNT(*) AS n, COUNT(IF(line LIKE 'GET %', 1, NULL)) AS g"
            " FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS];",
            tmp_path,
        )
        first = engine.run("idle")
        (tmp_path / "in" / "2.log").write_text("GET /d")
        second = engine.run("flush")
        answers = engine.query("q").answers().to_arrow()
    assert (first.rows_in, second.rows_in) == (4, 1)
    assert (first.rows_malformed, second.rows_malformed) == (0, 0)
    assert sum(answers["n"].to_pylist()) == 5
    assert sum(answers["g"].to_pylist()) == 3
