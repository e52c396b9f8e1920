"""The same files give the same late rows and the same answers, however ticks are cut.

    file      | 0        | 1              | 2 …
    judged by | nothing  | 0 − lateness   | the newer of 0 and 1 − lateness
    ticks     | one file each, five, all of them; or ten runs, each with what is there

Rows are late by the rule as it is written (`reference.lateness`), and answers equal Spark batch
SQL over the rows that are not.
"""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.laws.kills import KilledError, killed
from tests.stories.oracle import Case, Keyed, many_batch_answers, random_cases
from tests.stories.streams import (
    COLUMNS,
    LATENESS_US,
    NOON_US,
    SECOND_US,
    YEAR_9999_US,
    Row,
    cut,
    random_row,
    table_of,
    write_files,
)
from tests.stories.test_columnar import tell
from tests.stories.test_crash import command
from tests.stories.test_disorder import in_order
from tidemill.engine import Engine, RunReport
from tidemill.reference.lateness import late_rows
from tidemill.spark.jobs import LIMITS, Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 12
Write = Callable[[Path, Sequence[Sequence[Row]]], None]


def disordered() -> list[list[Row]]:
    """Files of rows of which many come later than the lateness; some have no time."""
    rng = random.Random(41)
    times = [NOON_US + n * SECOND_US // 4 for n in range(720)]
    times.sort(key=lambda t: t + (rng.random() < 0.4) * rng.randrange(40 * SECOND_US))
    rows = [random_row(rng, time) for time in times]
    rows[::101] = [{**row, "ts": None} for row in rows[::101]]
    return cut(rows, FILES)


def late_of(parts: Sequence[Sequence[Row]]) -> list[Row]:
    verdicts = late_rows([[row["ts"] for row in rows] for rows in parts], LATENESS_US)
    pairs = zip(parts, verdicts, strict=True)
    return [row for rows, late in pairs for row, is_late in zip(rows, late, strict=True) if is_late]


def run(folder: Path, script: str, cases: Sequence[Case]) -> tuple[RunReport, dict[str, pa.Table]]:
    with Engine(folder / "home") as engine:
        engine.sql(script + "\n".join(case.create("out") for case in cases), folder)
        report = engine.run("flush")
        return report, {case.name: engine.query(case.name).answers().to_arrow() for case in cases}


def script_for(place: Path, scan: str = "auto", tick_files: int = 1, columns: str = COLUMNS) -> str:
    return (
        f"SET tick_files = {tick_files}; SET scan = '{scan}'; CREATE SINK out TO 'parquet:out';"
        f" CREATE STREAM s ({columns}) ORDER BY ts SOURCE '{place.name}:{place}'"
        f" WITH (lateness = '{LATENESS_US // SECOND_US} seconds');"
    )


def set_aside(home: Path) -> pa.Table:
    files = sorted((home / "streams" / "s" / "late").glob("*.parquet"))
    return pa.concat_tables(pq.read_table(file) for file in files)


def rows_of(parts: Sequence[Sequence[Row]]) -> list[Row]:
    return [row for rows in parts for row in rows]


def counted(spark: SparkSession, parts: Sequence[Sequence[Row]]) -> None:
    """The view `s` has the rows that count."""
    late = late_of(parts)
    rows = [row for row in rows_of(parts) if row["ts"] is not None and row not in late]
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")


@pytest.fixture(scope="module")
def expected(spark: SparkSession) -> list[tuple[Case, Keyed]]:
    """What batch SQL says of rows that count, for all cuts and scans."""
    counted(spark, disordered())
    cases = list(random_cases(random.Random(6), "s", families=3, members=2))
    return list(zip(cases, many_batch_answers(spark, cases), strict=True))


@pytest.mark.parametrize("scan", ["auto", "catalyst"])
def test_parquet_in_any_cut(expected: list[tuple[Case, Keyed]], tmp_path: Path, scan: str) -> None:
    parts = disordered()
    place = tmp_path / "parquet"
    write_files(place, parts)
    cases = [case for case, _ in expected]
    late = in_order(table_of(late_of(parts)))
    assert len(late) > 100
    for tick_files in (1, 5, FILES):
        folder = tmp_path / str(tick_files)
        report, answers = run(folder, script_for(place, scan, tick_files), cases)
        assert report.ticks == -(-FILES // tick_files) + 1
        assert in_order(set_aside(folder / "home").cast(table_of([]).schema)) == late
        assert (report.rows_late, report.rows_malformed) == (len(late), 8)
        assert sum(case.compare_keyed(answers[case.name], keyed) for case, keyed in expected) > 100


PLAIN = "ts TIMESTAMP, k STRING, g INT, m INT, n BIGINT"
QUERIES = (
    "SELECT k, COUNT(*) AS a, SUM(n) AS b, MAX(m) AS c FROM s [RANGE 20 s SLIDE 5 s] GROUP BY k",
    "SELECT g, COUNT(*) AS a, MIN(n) AS b FROM s [RANGE 9 s SLIDE 4 s] WHERE m > 10 GROUP BY g",
    "SELECT COUNT(*) AS a, SUM(g) AS b FROM s [RANGE 1 h SLIDE 1 h]",
)


def texts(folder: Path, parts: Sequence[Sequence[Row]]) -> Iterator[Path]:
    """The same rows as JSON and as CSV, which has no empty texts."""
    names = [column.split()[0] for column in PLAIN.split(", ")]
    for kind in ("json", "csv"):
        (folder / kind).mkdir()
        for number, rows in enumerate(table_of(part).select(names) for part in parts):
            lines = [_line(kind, row) for row in rows.to_pylist()]
            path = folder / kind / f"{number:02d}, [1] %41.{kind}"
            path.write_text("\n".join(lines) + "\n")
            os.utime(path, (1_000_000 + number,) * 2)
        yield folder / kind


def _line(kind: str, row: dict[str, Any]) -> str:
    row["ts"] = row["ts"] and row["ts"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if kind == "json":
        return json.dumps({name: value for name, value in row.items() if value is not None})
    return ",".join("" if value is None else str(value) for value in row.values())


def answers_of(folder: Path, script: str, runs: Callable[[Engine], RunReport]) -> Any:
    creates = (f"CREATE QUERY q{n} INTO out AS {sql};" for n, sql in enumerate(QUERIES))
    with Engine(folder / "home") as engine:
        engine.sql(script + "".join(creates), folder)
        report = runs(engine)
        answers = [in_order(engine.query(f"q{n}").answers().to_arrow()) for n in range(3)]
    return report.rows_late, in_order(set_aside(folder / "home")), answers


@pytest.mark.usefixtures("spark")
def test_text_in_any_cut_and_in_ten_runs(tmp_path: Path) -> None:
    parts = [[{**row, "k": row["k"] or None} for row in rows] for rows in disordered()]
    write_files(tmp_path / "parquet", parts)

    def flush(engine: Engine) -> RunReport:
        return engine.run("flush")

    script = script_for(tmp_path / "parquet", "auto", 1, PLAIN)
    expected = answers_of(tmp_path / "one", script, flush)
    assert expected[0] == len(expected[1]) == len(late_of(parts)) > 100
    assert all(map(len, expected[2]))
    for place in texts(tmp_path, parts):
        for tick_files in (1, 5, FILES):
            script = script_for(place, "auto", tick_files, PLAIN)
            assert answers_of(tmp_path / f"{place.name}{tick_files}", script, flush) == expected

        later = tmp_path / f"{place.name}-later"
        later.mkdir()
        (later / place.name).mkdir()

        def in_ten_runs(engine: Engine, place: Path = place, later: Path = later) -> RunReport:
            paths = sorted(place.iterdir())
            for first, last in zip((0, 3, *range(4, 12)), (3, *range(4, 13)), strict=True):
                for path in paths[first:last]:
                    os.link(path, later / place.name / path.name)
                assert engine.run("idle").rows_in > 0
            return engine.run("flush")

        script = script_for(later / place.name, "auto", 2, PLAIN)
        _, *same = answers_of(later, script, in_ten_runs)
        assert same == list(expected[1:])


@pytest.mark.usefixtures("spark")
def test_tasks_judge_text_as_the_driver_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups that stay where they are, and late rows that are too many for the driver."""
    for measure in ("partial_rows", "input_rows"):
        monkeypatch.setitem(LIMITS, measure, Limits(0, 0))
    parts = disordered()
    (place,) = [p for p in texts(tmp_path, parts) if p.name == "json"]
    script = script_for(place, "auto", 5, PLAIN)
    told = answers_of(tmp_path / "tasks", script, lambda engine: engine.run("flush"))
    monkeypatch.undo()
    assert told == answers_of(tmp_path / "driver", script, lambda engine: engine.run("flush"))
    assert told[0] == len(told[1]) == len(late_of(parts))


@pytest.mark.usefixtures("spark")
def test_a_row_far_ahead_of_the_clock_does_not_silence_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "in"
    rng = random.Random(8)
    times = [NOON_US, YEAR_9999_US, NOON_US + SECOND_US, NOON_US + 2 * SECOND_US, 2**61]
    write_files(place, [[random_row(rng, times[0]), random_row(rng, times[1])]])
    write_files(place, [[random_row(rng, time)] for time in times[2:]], first=1)
    columns = "ts TIMESTAMP, k STRING, g INT"
    script = f"CREATE STREAM s ({columns}) ORDER BY ts SOURCE 'parquet:in' WITH (ahead = '1 hour');"
    count = ["SELECT COUNT(*) AS a FROM s [RANGE 1 HOUR SLIDE 1 HOUR]"]
    told = [tell(tmp_path, route, script, count, monkeypatch) for route in ("catalyst", "threads")]
    assert told[0][1:] == told[1][1:]
    for report, _, sides in told:
        assert (report.rows_in, report.rows_late, report.rows_malformed) == (5, 0, 2)
        ((_, rows),) = sides["malformed"]
        assert ["ahead of the clock" in row for row in rows].count(True) == 1


@pytest.mark.usefixtures("spark")
def test_rows_that_are_stamped_on_arrival_are_never_late(tmp_path: Path) -> None:
    place = tmp_path / "in"
    place.mkdir()
    with Engine(tmp_path / "home") as engine:
        engine.sql(
            "CREATE STREAM s (line STRING, current_time TIMESTAMP) ORDER BY current_time"
            " SOURCE 'lines:in'; CREATE SINK out TO 'parquet:out';"
            " CREATE QUERY q INTO out AS SELECT COUNT(*) AS a FROM s [RANGE 1 HOUR SLIDE 1 HOUR];",
            tmp_path,
        )
        for number in range(2):
            (place / f"{number}.txt").write_text("one\ntwo\n")
            report = engine.run("flush")
            assert (report.rows_in, report.rows_late) == (2, 0)
        assert engine.query("q").answers().to_arrow().column("a").to_pylist() == [2, 2]


@pytest.mark.usefixtures("spark")
def test_kills_do_not_change_verdicts(tmp_path: Path) -> None:
    """Killed after the scan and after the decision of ticks with five files.

    The first is a process that is killed in earnest; Spark need not start again for the others.
    """
    parts = disordered()
    (place,) = [p for p in texts(tmp_path, parts) if p.name == "json"]
    creates = (f"CREATE QUERY q{n} INTO out AS {sql};" for n, sql in enumerate(QUERIES))
    script, home = script_for(place, "auto", 5, PLAIN) + "".join(creates), tmp_path / "home"
    (tmp_path / "script.sql").write_text(script)
    options = "--flush", "--home", str(home)
    process = command(tmp_path / "script.sql", *options, failpoint="fold:2")
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    for step, tick in (("decide", 2), ("partials", 3)):
        with pytest.raises(KilledError), killed(step, tick=tick), Engine(home) as engine:
            engine.run("flush")
    with Engine(home) as engine:
        engine.run("flush")
    late = table_of(late_of(parts)).select([c.split()[0] for c in PLAIN.split(", ")])
    assert in_order(set_aside(home)) == in_order(late)
