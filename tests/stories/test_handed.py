"""Streams that ticks of other streams feed: answers to a query, and rows that were set aside.

Sums of a second's sums over ten seconds are the plain sums; windows over late rows are batch SQL
over the rows that were late. Both hold wherever a process ends, as each row comes once.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidemill import Engine
from tidemill.connect.handovers import HandoverLedger
from tidemill.connect.sinks.handover import HandoverSink
from tidemill.engine.tick.handover import TickHandover
from tidemill.engine.tick.journal import Journal
from tidemill.engine.tick.report import TickReport
from tidemill.failpoints import Failpoint
from tidemill.reference.lateness import late_rows

BEGIN_US, SECOND_US = 1_767_225_600_000_000, 1_000_000
STREAM = """
CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT, price DECIMAL(9,2))
  ORDER BY ts SOURCE 'parquet:in' WITH (lateness = '400 ms');
"""
SUMS = "SUM(n) AS total, COUNT(*) AS rows, MIN(n) AS least, MAX(n) AS most"
AGAIN = "SUM(total) AS total, SUM(rows) AS rows, MIN(least) AS least, MAX(most) AS most"
ANSWERS = f"""
CREATE STREAM per_second AS
  SELECT k, {SUMS} FROM s [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k;
CREATE STREAM renamed AS SELECT k AS who, window_time AS at, total, rows, least, most
  FROM per_second;
CREATE STREAM per_five AS
  SELECT who, {AGAIN} FROM renamed [RANGE 5 SECONDS SLIDE 5 SECONDS] GROUP BY who;
CREATE QUERY twice INTO out AS
  SELECT who AS k, {AGAIN} FROM per_five [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY who;
CREATE QUERY once INTO out AS
  SELECT k, {AGAIN} FROM per_second [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k;
CREATE QUERY plain INTO out AS
  SELECT k, {SUMS} FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k;
"""
# A union of a source with itself and its own answers, and answers over it.
MIXED = """
CREATE STREAM mixed AS
  SELECT ts, k, n FROM s WHERE n > 0 UNION ALL SELECT ts, k, n FROM s
  UNION ALL SELECT window_time, k, total FROM per_second;
CREATE STREAM pairs AS
  SELECT k, SUM(n) AS n, COUNT(*) AS rows FROM mixed [RANGE 2 SECONDS SLIDE 2 SECONDS] GROUP BY k;
CREATE QUERY union_sums INTO out AS
  SELECT k, SUM(n) AS n, SUM(rows) AS rows FROM pairs [RANGE 10 SECONDS SLIDE 10 SECONDS]
  GROUP BY k;
"""
ASIDE = """
CREATE STREAM lost AS SELECT * FROM s.late;
CREATE QUERY late_rows INTO out AS SELECT ts, late.k, n, price, late_by_us FROM s.late;
CREATE QUERY late_sums INTO out AS
  SELECT k, COUNT(*) AS rows, SUM(n) AS total, MAX(late_by_us) AS most
  FROM lost [RANGE 365 DAYS SLIDE 365 DAYS] GROUP BY k;
CREATE QUERY wrong INTO out AS SELECT record, reason FROM s.malformed;
"""

SINK = "CREATE SINK out TO 'parquet:out';"
LATENESS_US = 400_000
WINDOW = "EPOCH_US(ts) // 10000000 * 10000000"

Row = dict[str, Any]


def random_files(rng: random.Random, files: int, rows: int) -> list[list[Row]]:
    """Some files of a stream whose rows are up to 3 s behind, with NULLs among keys and times."""
    return [
        [
            {
                "ts": None if rng.random() < 0.01 else _time_us(rng, number),
                "k": rng.choice(["a", "b", None]),
                "n": rng.choice([None, rng.randrange(-1000, 1000)]),
                "price": Decimal(rng.randrange(10**9)).scaleb(-2),
            }
            for _ in range(rows)
        ]
        for number in range(files)
    ]


def _time_us(rng: random.Random, number: int) -> int:
    behind = rng.choice([0, 0, 0, 3])
    return BEGIN_US + 2 * number * SECOND_US + rng.randrange(2 * SECOND_US) - behind * SECOND_US


def table(rows: Sequence[Row]) -> pa.Table:
    times = pa.array([row["ts"] for row in rows], pa.int64()).cast(pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "ts": times,
            "k": pa.array([row["k"] for row in rows], pa.string()),
            "n": pa.array([row["n"] for row in rows], pa.int64()),
            "price": pa.array([row["price"] for row in rows], pa.decimal128(9, 2)),
        }
    )


def write(folder: Path, files: Sequence[Sequence[Row]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(files):
        place = folder / f"{number:03d}.parquet"
        pq.write_table(table(rows), place)
        os.utime(place, ns=(number * 10**9, number * 10**9))


def verdicts(files: Sequence[Sequence[Row]]) -> tuple[list[Row], list[Row]]:
    """The rows that count, and those that are late."""
    late = late_rows([[row["ts"] for row in rows] for rows in files], LATENESS_US)
    judged = [pair for pairs in map(zip, files, late) for pair in pairs]
    timed = [(row, is_late) for row, is_late in judged if row["ts"] is not None]
    return [r for r, is_late in timed if not is_late], [r for r, is_late in timed if is_late]


def batch(rows: Sequence[Row], sql: str) -> Counter[Any]:
    """The rows of batch SQL over a table `s`, each with how often it comes."""
    connection = duckdb.connect()
    connection.register("s", table(rows))
    connection.execute("SET TimeZone = 'UTC'")
    return Counter(connection.execute(sql).fetchall())


def answers(engine: Engine, query: str, names: str) -> Counter[Any]:
    rows = engine.query(query).answers().to_arrow()
    columns = [_plain(rows.column(name)) for name in names.split()]
    return Counter(zip(*columns, strict=True))


def _plain(column: pa.ChunkedArray) -> list[Any]:
    is_time = pa.types.is_timestamp(column.type)
    return list(column.cast(pa.int64()).to_pylist() if is_time else column.to_pylist())


def check(engine: Engine, files: Sequence[Sequence[Row]]) -> None:
    """Every query of the script against batch SQL over the rows by their verdicts."""
    counted, late = verdicts(files)
    plain = batch(counted, f"SELECT {WINDOW} AS w, k, {SUMS} FROM s GROUP BY ALL")
    assert len(plain) > 3
    for query in ("plain", "once", "twice"):
        assert answers(engine, query, "window_start k total rows least most") == plain, query
    assert answers(engine, "union_sums", "window_start k n rows") == batch(
        counted,
        f"""WITH seconds AS (
              SELECT TIME_BUCKET(INTERVAL 1 SECOND, ts) AS ts, k, SUM(n) AS n FROM s GROUP BY ALL),
            mixed AS (
              SELECT ts, k, n FROM s WHERE n > 0 UNION ALL SELECT ts, k, n FROM s
              UNION ALL SELECT * FROM seconds)
            SELECT {WINDOW} AS w, k, SUM(n), COUNT(*) FROM mixed GROUP BY ALL""",
    )
    rows = batch(late, "SELECT EPOCH_US(ts), k, n, price FROM s")
    assert len(rows) > 10
    assert answers(engine, "late_rows", "ts k n price") == rows
    sums = batch(late, "SELECT k, COUNT(*), SUM(n) FROM s GROUP BY k")
    assert answers(engine, "late_sums", "k rows total") == sums
    malformed = sum(row["ts"] is None for rows in files for row in rows)
    assert malformed
    assert answers(engine, "wrong", "reason") == {("no event time",): malformed}


def nothing_is_left(home: Path) -> bool:
    return not any(path.is_file() for path in (home / "handovers").rglob("*"))


@pytest.mark.parametrize(("seed", "tick_files", "tick_rows"), [(1, 1, 1), (2, 5, 10**6)])
def test_sums_of_sums_and_windows_over_late_rows_equal_batch(
    tmp_path: Path, seed: int, tick_files: int, tick_rows: int
) -> None:
    files = random_files(random.Random(seed), 12, 60)
    write(tmp_path / "in", files)
    with Engine(tmp_path / "home") as engine:
        engine.sql(f"SET tick_files = {tick_files}; SET tick_rows = {tick_rows};")
        engine.sql(STREAM + SINK + ANSWERS + MIXED + ASIDE, tmp_path)
        report = engine.run("flush")
        assert not report.failed_streams
        check(engine, files)
        counted, late = verdicts(files)
        bounds = answers(engine, "late_rows", "ts late_by_us")
    assert {ts + late_by for ts, late_by in bounds} <= {row["ts"] - LATENESS_US for row in counted}
    rows_in = {name: stream["rows_in"] for name, stream in report.streams.items()}
    seconds = batch(counted, "SELECT k, EPOCH_US(ts) // 1000000 AS w FROM s GROUP BY ALL")
    fives = batch(counted, "SELECT k, EPOCH_US(ts) // 5000000 AS w FROM s GROUP BY ALL")
    twos = batch(counted, "SELECT k, EPOCH_US(ts) // 2000000 AS w FROM s GROUP BY ALL")
    assert rows_in == {
        "s": 12 * 60,
        "per_second": len(seconds),
        "per_five": len(fives),
        "pairs": len(twos),
        "s.late": len(late),
        "s.malformed": 12 * 60 - len(counted) - len(late),
    }
    assert not any("stream " in query for query in report.queries)
    assert nothing_is_left(tmp_path / "home")


class Death(BaseException):
    """The end of a process, as far as one can be played."""


PLACES = (
    *((Failpoint, "reach"), (Journal, "begin"), (Journal, "decide"), (Journal, "commit")),
    *((HandoverLedger, "add"), (HandoverLedger, "remove")),
    *((HandoverSink, "deliver"), (HandoverSink, "committed"), (TickHandover, "remove")),
)


@contextmanager
def dying(points: Sequence[int]) -> Iterator[list[int]]:
    """Every process of the story passes through numbered points, and dies at some of them."""
    passed = [0]
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in PLACES:
            step = getattr(owner, name)

            def counted_step(*arguments: Any, _step: Any = step) -> Any:
                _pass(passed, points)
                result = _step(*arguments)
                _pass(passed, points)
                return result

            patch.setattr(owner, name, counted_step)
        yield passed


def _pass(passed: list[int], points: Sequence[int]) -> None:
    passed[0] += 1
    if passed[0] in points:
        raise Death


def run_to_the_end(folder: Path, script: str) -> int:
    """How often a process died on the way."""
    for deaths in range(100):
        with Engine(folder / "home") as engine:
            try:
                engine.sql(script, folder)
                engine.run("flush")
                return deaths
            except Death:
                continue
    raise AssertionError("there is no end to it")


@settings(max_examples=5)
@given(points=st.lists(st.integers(1, 700), min_size=3, max_size=6, unique=True))
def test_rows_come_once_wherever_a_process_ends(points: list[int]) -> None:
    files = random_files(random.Random(5), 5, 40)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "in", files)
        script = "SET tick_files = 2;" + STREAM + SINK + ANSWERS + MIXED + ASIDE
        with dying(points) as passed:
            deaths = run_to_the_end(folder, script)
        assert passed[0] > 200
        assert deaths == len([point for point in points if point <= passed[0]])
        with Engine(folder / "home") as engine:
            check(engine, files)
        assert nothing_is_left(folder / "home")


def test_time_goes_on_where_there_are_no_answers(tmp_path: Path) -> None:
    """Level by level windows close by a promise alone, and nothing is worked out for nobody."""
    script = """
    CREATE STREAM many AS SELECT COUNT(*) AS n FROM s [RANGE 1 SECOND SLIDE 1 SECOND]
      HAVING COUNT(*) > 3;
    CREATE STREAM tens AS SELECT SUM(n) AS n FROM many [RANGE 2 SECONDS SLIDE 2 SECONDS];
    CREATE QUERY counts AS SELECT SUM(n) AS n FROM s [RANGE 1 SECOND SLIDE 1 SECOND];
    """
    reader = "CREATE QUERY sums AS SELECT SUM(n) AS n FROM tens [RANGE 4 SECONDS SLIDE 4 SECONDS];"
    quarters = (0, 1, 2, 3, 12, 16, 20)
    times = [BEGIN_US + SECOND_US * quarter // 4 for quarter in quarters]
    rows: list[Row] = [{"ts": ts, "k": "a", "n": 1, "price": None} for ts in times]
    write(tmp_path / "in", [rows[:4]])
    ticks: list[TickReport] = []
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + script, tmp_path)
        engine.run("idle", ticks.append)
        assert {tick.stream for tick in ticks} == {"s"}
        assert engine.sql("SHOW SOURCES")[0].count("unread") == 2
    # Nobody has read `many` so far, so nothing of it is there; files come one by one.
    with Engine(tmp_path / "home2") as engine:
        engine.sql(STREAM + script + reader, tmp_path)
        for number in range(1, 4):
            engine.run("idle", ticks.append)
            write(tmp_path / "in", [rows[:4], *([row] for row in rows[4 : 4 + number])])
        ticks.clear()
        engine.run("idle", ticks.append)
        assert [(tick.stream, tick.rows_in) for tick in ticks] == [
            ("s", 1),
            ("many", 0),
            ("tens", 0),
        ]
        assert answers(engine, "sums", "n") == {(4,): 1}
        assert "sums" not in engine.sql("SHOW SOURCES")[0]


TYPES = """
CREATE STREAM typed AS
  SELECT k, SUM(price) AS paid, COLLECT(n, 100) AS numbers, TOP(k, 2) AS names, AVG(n) AS mean,
    window_end AS closed
  FROM s [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k;
CREATE QUERY sizes AS
  SELECT k, SUM(paid) AS paid, SUM(SIZE(numbers)) AS numbers, MAX(closed) AS closed,
    SUM(SIZE(FILTER(numbers, x -> x > 0))) AS above, MAX(names[0].value) AS first
  FROM typed [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k;
CREATE QUERY whole AS SELECT * FROM typed WHERE mean > 0;
"""


@pytest.mark.parametrize("scan", ["auto", "catalyst"])
@pytest.mark.usefixtures("spark")
def test_answers_of_all_types_are_columns(tmp_path: Path, scan: str) -> None:
    files = random_files(random.Random(4), 4, 40)
    write(tmp_path / "in", files)
    with Engine(tmp_path / "home") as engine:
        engine.sql(f"SET scan = '{scan}'; {STREAM} {SINK} {TYPES} {ASIDE}", tmp_path)
        report = engine.run("flush")
        assert not report.failed_streams
        counted, late = verdicts(files)
        assert answers(engine, "sizes", "window_start k paid numbers above first") == batch(
            counted,
            f"SELECT {WINDOW} AS w, k, SUM(price), COUNT(n), COUNT(*) FILTER (n > 0), k FROM s"
            " GROUP BY ALL",
        )
        means = "SELECT k, AVG(n) AS mean, COUNT(n) FROM s GROUP BY k, EPOCH_US(ts) // 1000000"
        whole = [(k, size) for k, mean, size in batch(counted, means).elements() if (mean or 0) > 0]
        rows = engine.query("whole").answers().to_arrow().to_pylist()
        assert Counter((row["k"], len(row["numbers"])) for row in rows) == Counter(whole)
        late_by = answers(engine, "late_rows", "ts k n price")
        assert late_by == batch(late, "SELECT EPOCH_US(ts), k, n, price FROM s")
        bounds = answers(engine, "late_rows", "ts late_by_us")
    assert {ts + by for ts, by in bounds} <= {row["ts"] - LATENESS_US for row in counted}


def die(_: object) -> None:
    raise Death


def test_streams_that_others_feed_come_and_go_with_their_readers(tmp_path: Path) -> None:
    files = random_files(random.Random(6), 6, 40)
    write(tmp_path / "in", files[:3])
    reader = """
    CREATE QUERY bytes AS SELECT SUM(n) AS n FROM sums [RANGE 2 SECONDS SLIDE 2 SECONDS];
    CREATE QUERY lost AS SELECT ts FROM s.late;
    """
    sums = "CREATE STREAM sums AS SELECT k, SUM(n) AS n FROM s [RANGE 1 {} SLIDE 1 {}] GROUP BY k;"
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + sums.format("s", "s") + sums.format("s", "s") + reader, tmp_path)
        described = engine.sql("DESCRIBE sums; DESCRIBE s.late")
        assert "(window_time" not in described[0]
        assert "columns of sums: window_time TIMESTAMP, k STRING, n BIGINT" in described[0]
        assert "late_by_us BIGINT, seen_at TIMESTAMP" in described[1]
        # The run dies after the first tick, so that what it hands over stays where it is.
        with pytest.raises(Death):
            engine.run("flush", die)
        assert not nothing_is_left(tmp_path / "home")
        # A reader goes, the stream becomes another one, and a reader comes, all at once.
        engine.sql(
            "DROP QUERY bytes; CREATE OR REPLACE STREAM sums AS"
            " SELECT k AS n, COUNT(*) AS k FROM s [RANGE 1 s SLIDE 1 s] GROUP BY k;"
            "CREATE QUERY bytes AS SELECT n FROM sums;"
        )
        assert not any((tmp_path / "home" / "handovers" / "sums").iterdir())
        write(tmp_path / "in", files[:4])
        assert engine.run("flush").queries["bytes"] > 0
    shutil.rmtree(tmp_path / "home")
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + sums.format("s", "s") + reader, tmp_path)
        with pytest.raises(Death):
            engine.run("flush", die)
        engine.sql(
            "PAUSE QUERY bytes; ALTER QUERY bytes AS SELECT n FROM sums; RESUME QUERY bytes;"
        )
        assert not nothing_is_left(tmp_path / "home")
    with Engine(tmp_path / "home") as engine:
        engine.sql("DROP QUERY bytes; DROP QUERY lost; DROP STREAM sums;")
        assert "s.late" not in engine.sql("SHOW SOURCES")[0]
        assert nothing_is_left(tmp_path / "home")
        # Another stream of that name knows nothing of the first; its rows may be older.
        engine.sql(sums.format("ms", "ms") + reader, tmp_path)
        write(tmp_path / "in", files)
        report = engine.run("flush")
        assert not report.failed_streams
        late = {name for name, stream in report.streams.items() if stream["rows_late"]}
        assert late == {"s"}
        assert report.queries["bytes"]
        assert report.queries["lost"] == report.rows_late > 10


def test_late_rows_that_break_a_promise_are_handed_over_like_others(tmp_path: Path) -> None:
    files = random_files(random.Random(8), 2, 40)
    write(tmp_path / "in", files[:1])
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + "CREATE QUERY lost AS SELECT ts FROM s.late;", tmp_path)
        before = engine.run("idle")
        engine.sql("ADVANCE STREAM s TO TIMESTAMP '2030-01-01 00:00:00';")
        engine.run("idle")
        write(tmp_path / "in", files)
        report = engine.run("flush")
    broken = report.streams["s"]["rows_broken"]
    assert broken == report.rows_late > 20
    assert report.queries["lost"] + before.queries["lost"] == report.rows_late + before.rows_late
