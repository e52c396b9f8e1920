"""Rows that come too late, do not parse or have no time: set aside, counted, never lost.

arrival   | tick 1       | tick 2             | tick 3 …
event time| 0 … 40       | 35 … 80, 12, 3     | 70 … 120, 50
judged by | nothing      | 40 − lateness      | 80 − lateness: 50 is late
"""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.stories.oracle import Case, compare_all, random_cases
from tests.stories.streams import (
    LATENESS_US,
    SCHEMA,
    SECOND_US,
    STREAM,
    Row,
    cut,
    ordered_times,
    random_row,
    random_rows,
    table_of,
    write_files,
)
from tests.stories.test_columnar import tell
from tidemill.engine import Engine, RunReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_cases(folder: Path, cases: list[Case]) -> tuple[RunReport, dict[str, pa.Table]]:
    with Engine(folder / "home") as engine:
        engine.sql(STREAM + "\n".join(case.create("out") for case in cases), folder)
        report = engine.run("flush")
        return report, {case.name: engine.query(case.name).answers().to_arrow() for case in cases}


def expected_late(parts: list[list[Row]]) -> list[Row]:
    """The rule by itself: a tick judges by the watermark its predecessor left."""
    late: list[Row] = []
    newest: int | None = None
    for rows in parts:
        before = None if newest is None else newest - LATENESS_US
        times = [row["ts"] for row in rows]
        late += [row for row in rows if before is not None and row["ts"] < before]
        newest = max([t for t in times if before is None or t >= before], default=newest)
    return late


def in_order(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


def test_rows_beyond_the_lateness_are_set_aside_and_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    rng = random.Random(7)
    times = sorted(ordered_times(rng, 400), key=lambda t: t + rng.randrange(90 * SECOND_US))
    parts = cut([random_row(rng, t) for t in times], 6)
    write_files(tmp_path / "in", parts)
    cases = list(random_cases(rng, "s", families=2, members=4))

    report, answers = run_cases(tmp_path, cases)

    late = pa.concat_tables(
        pq.ParquetFile(path).read()
        for path in sorted(Path(str(report.streams["s"]["late"])).glob("*.parquet"))
    )
    should = table_of(expected_late(parts))
    assert report.ticks == 7
    assert 20 < report.rows_late == len(late)
    assert late.schema.names == SCHEMA.names
    assert in_order(late.cast(SCHEMA)) == in_order(should)
    assert report.rows_in == 400

    everything = spark.createDataFrame(table_of([row for rows in parts for row in rows]))
    everything.exceptAll(spark.createDataFrame(late.cast(SCHEMA))).createOrReplaceTempView("s")
    assert compare_all(spark, cases, answers) > 100


@pytest.mark.usefixtures("spark")
def test_disorder_within_the_lateness_changes_nothing(tmp_path: Path) -> None:
    rng = random.Random(8)
    rows = random_rows(rng, "disordered", 200)
    cases = list(random_cases(rng, "s", families=2, members=2))
    outcomes = []
    for name, arrival in (("as_came", rows), ("sorted", sorted(rows, key=lambda r: r["ts"]))):
        write_files(tmp_path / name / "in", cut(arrival, 4))
        outcomes.append(run_cases(tmp_path / name, cases))
    (came, answers), (sorted_, same) = outcomes
    assert came.rows_late == sorted_.rows_late == 0
    assert all(case.compare(answers[case.name], same[case.name]) for case in cases[:2])
    assert sum(case.compare(answers[case.name], same[case.name]) for case in cases) > 40


CSV_LINES = [
    "ts,host,bytes",
    "2024-03-01T12:00:00Z,a,1",
    "2024-03-01T12:00:01Z,b,many",  # not a number
    "yesterday,a,3",  # not a time
    "2024-03-01T12:00:02Z,a",  # a column short
    "2024-03-01T12:00:03Z,a,4,5",  # a column long
    ",a,6",  # no event time
    '2024-03-01T12:00:04Z,"quoted, with comma",7',
    "2024-03-01T12:00:05Z,,",  # NULLs are no fault
]
JSON_LINES = [
    '{"ts": "2024-03-01T12:00:00Z", "host": "a", "bytes": 1}',
    '{"ts": "2024-03-01T12:00:01Z", "host": "b", "bytes": "many"}',
    '{"ts": "yesterday", "host": "a", "bytes": 3}',
    '{"ts": "2024-03-01T12:00:02Z", "host": ',
    "[1, 2",
    '{"host": "a", "bytes": 6}',
    '{"ts": "2024-03-01T12:00:04Z", "host": "quoted, with comma", "bytes": 7}',
    '{"ts": "2024-03-01T12:00:05Z", "host": null}',
]


@pytest.mark.parametrize(
    ("address", "lines", "counted"),
    [("csv:in?header=true", CSV_LINES, 3), ("json:in", JSON_LINES, 3)],
    ids=["csv", "json"],
)
@pytest.mark.usefixtures("spark")
def test_malformed_lines_are_counted_and_kept(
    tmp_path: Path, address: str, lines: list[str], counted: int
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.txt").write_text("\n".join(lines) + "\n")
    script = f"""
    CREATE STREAM s (ts TIMESTAMP, host STRING, bytes BIGINT) ORDER BY ts SOURCE '{address}';
    CREATE QUERY q AS SELECT COUNT(*) AS rows, SUM(bytes) AS total
      FROM s [RANGE 1 HOUR SLIDE 1 HOUR];
    CREATE QUERY lines AS SELECT COUNT(*) AS rows FROM s [RANGE 1 DAY SLIDE 1 DAY];
    """
    with Engine(tmp_path / "home") as engine:
        engine.sql(script, tmp_path)
        report = engine.run("flush")
        (answer,) = engine.query("q").answers().to_arrow().to_pylist()
        (same,) = engine.query("lines").answers().to_arrow().to_pylist()
    header = 1 if "header" in address else 0
    assert report.rows_in == len(lines) - header
    assert answer["rows"] == same["rows"] == counted
    assert answer["total"] == 8
    assert report.rows_malformed == report.rows_in - counted
    kept: list[dict[str, Any]] = [
        row
        for path in Path(str(report.streams["s"]["malformed"])).glob("*.parquet")
        for row in pq.ParquetFile(path).read().to_pylist()
    ]
    assert len(kept) == report.rows_malformed
    assert all(row["record"] and row["reason"] for row in kept)
    assert any("many" in row["record"] for row in kept)


ODD_TEXT = 'ä "quoted", \\ and \t tabbed\x01'
PLAIN_COLUMNS = "ts TIMESTAMP, k STRING, n BIGINT, b BOOLEAN, day DATE, p DECIMAL(9,2)"


def write_plain_parquet(folder: Path) -> None:
    """Two ticks; in the second a row is late, and some have no time or one out of range."""
    folder.mkdir()
    times = [0, 60 * SECOND_US, None, 1, 2**62, -(2**62), 61 * SECOND_US]
    prices = [
        Decimal("1.50"),
        None,
        Decimal("0.00"),
        Decimal("-12.50"),
        None,
        None,
        Decimal("7.05"),
    ]
    days = [0, 1, 2, None, -800_000, 10**7, 19_000]
    rows = pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array(["a", "b", ODD_TEXT, None, "", "b", "c"]),
            "n": pa.array([1, 2, None, -5, 2**63 - 1, 0, 1], pa.int64()),
            "b": pa.array([True, False, True, None, False, True, True]),
            "day": pa.array(days, pa.int32()).cast(pa.date32()),
            "p": pa.array(prices, pa.decimal128(9, 2)),
        }
    )
    pq.write_table(rows.slice(0, 2), folder / "0.parquet")
    pq.write_table(rows.slice(2), folder / "1.parquet")


def write_plain_csv(folder: Path) -> None:
    folder.mkdir()
    first = "2024-03-01T12:00:00Z,a,1,true,2024-03-01,1.50\n2024-03-01T12:01:00Z,b,2,,,\n"
    (folder / "0.csv").write_text(first)
    second = ",no time,3,false,1969-12-31,0.05\n2024-03-01T12:00:01.5Z,late ä,,true,,-2.25\n"
    (folder / "1.csv").write_text(second + "2024-03-01T12:01:01Z,c,4,true,2024-03-01,1.50\n")


def write_corrupt_csv(folder: Path) -> None:
    """The second tick has a line that is Spark's to read, beside rows that arrays would refuse."""
    write_plain_csv(folder)
    with (folder / "1.csv").open("a") as file:
        file.write("yesterday,a,many,true,,\n")


@pytest.mark.parametrize(
    ("write", "scheme", "routes", "refused"),
    [
        (write_plain_parquet, "parquet", {"columnar": 2}, (1, 3)),
        (write_plain_csv, "csv", {"columnar": 2}, (1, 1)),
        (write_corrupt_csv, "csv", {"columnar": 1, "catalyst": 1}, (1, 2)),
    ],
    ids=["parquet", "csv", "corrupt"],
)
@pytest.mark.usefixtures("spark")
def test_who_judges_writes_the_same_side_files(
    tmp_path: Path,
    write: Callable[[Path], None],
    scheme: str,
    routes: dict[str, int],
    refused: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(tmp_path / "in")
    script = (
        f"SET tick_files = 1; CREATE STREAM s ({PLAIN_COLUMNS}) ORDER BY ts"
        f" WITH (lateness = '2 s') SOURCE '{scheme}:in';"
    )
    count = ["SELECT COUNT(*) AS a FROM s [RANGE 1 HOUR SLIDE 1 HOUR]"]
    expected, answers, sides = tell(tmp_path, "catalyst", script, count, monkeypatch)
    assert (expected.rows_late, expected.rows_malformed) == refused
    if "catalyst" not in routes:
        # Arrays judged, so nothing is read again by Spark.
        monkeypatch.setattr("tidemill.engine.tick.fold.set_aside_in_catalyst", None)
    for route in ("threads", "tasks"):
        report, same_answers, same_sides = tell(tmp_path, route, script, count, monkeypatch)
        assert report.routes == routes
        assert (report.rows_late, report.rows_malformed) == refused
        assert (same_answers, same_sides) == (answers, sides)


@pytest.mark.usefixtures("spark")
def test_late_rows_that_were_generated_are_the_same_on_every_route(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (
        "SET tick_rows = 1; CREATE STREAM s (ts TIMESTAMP, src STRING, port INT) ORDER BY ts"
        " WITH (lateness = '1 s')"
        " SOURCE 'generate:packets?rate=100&duration=6s&hosts=9&seed=7&disorder=3s';"
    )
    count = ["SELECT COUNT(*) AS a FROM s [RANGE 2 SECONDS SLIDE 2 SECONDS]"]
    expected, answers, sides = tell(tmp_path, "catalyst", script, count, monkeypatch)
    monkeypatch.setattr("tidemill.engine.tick.fold.set_aside_in_catalyst", None)
    for route in ("threads", "tasks"):
        report, *same = tell(tmp_path, route, script, count, monkeypatch)
        assert set(report.routes) == {"columnar"}
        assert report.rows_late == expected.rows_late == sum(len(rows) for _, rows in sides["late"])
        assert report.rows_late > 20
        assert same == [answers, sides]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("tick_files", [9, 1])
def test_a_corrupt_file_is_left_out_and_named(tmp_path: Path, tick_files: int) -> None:
    """Beside others in a tick, and where it is all that the tick has."""
    rng = random.Random(9)
    rows = random_rows(rng, "ordered", 60)
    write_files(tmp_path / "in", cut(rows, 3))
    (tmp_path / "in" / "part-001.parquet").write_bytes(b"PAR1 nothing of the kind PAR1")
    (tmp_path / "in" / "part-005.parquet").write_bytes(b"")
    text = STREAM.replace("tick_files = 1", f"tick_files = {tick_files}")
    with Engine(tmp_path / "home") as engine:
        engine.sql(
            f"{text} CREATE QUERY q AS SELECT COUNT(*) AS rows FROM s [RANGE 1 DAY SLIDE 1 DAY];",
            tmp_path,
        )
        report = engine.run("flush")
        again = engine.run("idle")
        (answer,) = engine.query("q").answers().to_arrow().to_pylist()
    good = sum(map(len, (cut(rows, 3)[0], cut(rows, 3)[2])))
    assert answer["rows"] == report.rows_in == good > 0
    ((path, reason),) = report.skipped_files.items()
    assert path.endswith("part-001.parquet")
    assert reason
    assert again.ticks == 0
