"""Parquet files folded on arrays: the same answers, counts and side streams as by Catalyst.

Every story is told by arrays in threads, by arrays in Spark's tasks and by Catalyst. That two
of these are wrong alike is left to `test_batch_equality.py` to find.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.stories.oracle import close, plain_values
from tests.stories.streams import (
    COLUMNS,
    NOON_US,
    SECOND_US,
    STREAM,
    cut,
    random_rows,
    table_of,
    write_files,
)
from tidemill.engine import Engine
from tidemill.engine.run import RunReport
from tidemill.language.expressions.trees import parse_tree
from tidemill.plan.try_forms import to_spark_sql
from tidemill.spark.jobs import LIMITS, Limits

pytestmark = pytest.mark.usefixtures("spark")
ROUTES = {"catalyst": "catalyst", "threads": "columnar", "tasks": "columnar"}
QUERIES = (
    "SELECT k, COUNT(*) AS a, SUM(n) AS b, MAX(x) AS c FROM s [{}] GROUP BY k",
    "SELECT k, b, MIN(f) AS a, MAX(f) AS z, COUNT(d) AS c FROM s [{}] WHERE m > 30 GROUP BY k, b",
    "SELECT g, AVG(m) AS a, SUM(x) AS b1 FROM s [{}] WHERE k = 'a' OR k IS NULL GROUP BY g",
    "SELECT day, at, MIN(at) AS a, MAX(day) AS b1 FROM s [{}] WHERE b GROUP BY day, at",
    "SELECT name, g, k, MIN(n) AS a, MAX(b) AS b1 FROM s [{}] WHERE name > 'r' GROUP BY name, g, k",
    "SELECT COUNT(*) AS a, SUM(f) AS b1 FROM s [{}] WHERE d BETWEEN -500000 AND 500000.25",
    "SELECT n, COUNT(d) AS a FROM s [{}] WHERE NOT b AND g IN (1, 2, -3) GROUP BY n",
    "SELECT k, COUNT(DISTINCT x) AS a, MEDIAN(m) AS b1, TOP(name, 2) AS c FROM s [{}] GROUP BY k",
    "SELECT TOP(at, 3, SUM(n)) AS a, COLLECT(f, 3) AS b1, TOP(g, 2, SUM(f)) AS c FROM s [{}]",
    "SELECT k, APPROX_COUNT_DISTINCT(name) AS a, APPROX_COUNT_DISTINCT(x, 0.05, 'theta') AS b1,"
    " APPROX_TOP_K(m, 3) AS c, APPROX_COUNT(name, 'rita') AS d1 FROM s [{}] GROUP BY k",
    "SELECT b, APPROX_PERCENTILE(m, 0.5) AS a, APPROX_PERCENTILE(f, 0.9) AS b1,"
    " APPROX_TOP_K(name, 2) AS c, APPROX_COUNT_DISTINCT(at) AS d1 FROM s [{}] GROUP BY b",
    "SELECT COUNT(*) AS a FROM s [{}] WHERE day >= DATE '1969-12-31' AND at IS NOT NULL",
    "SELECT k, SUM(n * 8) AS a, MIN(m * 2) AS b1, MAX(x - 1.5) AS c, COUNT(g + m * m) AS d1"
    " FROM s [{}] WHERE m + g > 5 GROUP BY k",
    "SELECT m + 1 AS o, SUM(f * g) AS a, MAX(f + f) AS b1, SUM(-m) AS c FROM s [{}] GROUP BY m + 1",
)
WINDOWS = (
    "RANGE 10 s SLIDE 5 s",
    "RANGE 7 s SLIDE 3 s",
    "RANGE 1500 ms SLIDE 1 s START '333 ms'",
    "RANGE 2 s SLIDE 9 s",
    "RANGE 1 h SLIDE 1 h",
)
Told = tuple[RunReport, list[list[tuple[Any, ...]]], dict[str, list[Any]]]


@pytest.fixture(params=["ordered", "disordered", "bursty", "ancient", "far"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    rng = random.Random(request.param)
    rows = random_rows(rng, request.param, 200)
    rows[::37] = [{**row, "ts": None} for row in rows[::37]]
    rows[150]["ts"] = rows[20]["ts"]
    write_files(tmp_path / "in", cut(rows, 4))
    return tmp_path


def tell(
    folder: Path, route: str, script: str, queries: list[str], patched: pytest.MonkeyPatch
) -> Told:
    if route == "tasks":
        patched.setitem(LIMITS, "scanned_rows", Limits(0, 0))
    scan = "catalyst" if route == "catalyst" else "auto"
    names = [f"q{number}" for number in range(len(queries))]
    with Engine(folder / f"home-{route}") as engine:
        creates = [f"CREATE QUERY {n} AS {q};" for n, q in zip(names, queries, strict=True)]
        engine.sql(f"SET scan = '{scan}';{script}{''.join(creates)}", folder)
        report = engine.run("flush")
        tables = [engine.query(name).answers().to_arrow() for name in names]
    sides = {side: _side(folder / f"home-{route}", side) for side in ("late", "malformed")}
    return report, [_rows(table) for table in tables], sides


def _side(home: Path, side: str) -> list[Any]:
    """The files in order: columns and their types as stored, and rows in any order."""
    files = sorted((home / "streams" / "s" / side).glob("*.parquet"))
    return [(_stored(file), sorted(map(repr, _rows(pq.read_table(file))))) for file in files]


def _stored(file: Path) -> list[str]:
    columns = pq.read_metadata(file).schema
    return [
        f"{c.name} {c.physical_type} {c.logical_type} {c.max_definition_level}" for c in columns
    ]


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*map(plain_values, table.columns), strict=True), key=repr)


def test_every_route_tells_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [query.format(window) for query, window in _drawn(random.Random(folder.name))]
    script = STREAM.replace("tick_files = 1", "tick_files = 2")
    told = {r: tell(folder, r, script, queries, monkeypatch) for r in ROUTES}
    expected, answers, sides = told["catalyst"]
    assert sum(map(len, answers)) > 100
    assert expected.rows_malformed == len([r for _, rows in sides["malformed"] for r in rows]) > 0
    for route, (report, mine, side) in told.items():
        assert report.routes == {ROUTES[route]: 2}
        assert _counts(report) == _counts(expected)
        assert side == sides
        for query, got, want in zip(queries, mine, answers, strict=True):
            assert _agree(got, want), f"{route}: {query}"


ODD = "SELECT k, COUNT(*) AS a, MIN(name) AS b1 FROM s [{}] WHERE name LIKE 'r%' GROUP BY k"


@pytest.mark.parametrize("folder", ["disordered"], indirect=True)
def test_an_odd_query_keeps_just_its_own_scan_from_arrays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = [query.format(WINDOWS[0]) for query in (QUERIES[0], ODD, QUERIES[1])]
    script = f"SET sharing = 'none';{STREAM}"
    told = {r: tell(folder, r, script, queries, monkeypatch) for r in ROUTES}
    expected, answers, sides = told["catalyst"]
    assert all(answers)
    for route, (report, mine, side) in told.items():
        assert report.routes == {route if route == "catalyst" else "columnar and catalyst": 4}
        assert (_counts(report), side) == (_counts(expected), sides)
        assert all(map(_agree, mine, answers))


def _drawn(rng: random.Random) -> Iterator[tuple[str, str]]:
    for query in QUERIES:
        yield query, rng.choice(WINDOWS)
        yield query, rng.choice(WINDOWS)


def _counts(report: RunReport) -> tuple[Any, ...]:
    return report.rows_in, report.rows_late, report.rows_malformed, report.queries, report.raised


def _agree(got: list[tuple[Any, ...]], want: list[tuple[Any, ...]]) -> bool:
    """Equal, but for the last digits of float sums, which sort alike."""
    return len(got) == len(want) and all(
        close(mine, theirs)
        for left, right in zip(got, want, strict=True)
        for mine, theirs in zip(left, right, strict=True)
    )


COUNTS = "SELECT k, COUNT(*) AS a, MAX(n) AS b FROM s [RANGE 10 s SLIDE 10 s] GROUP BY k"
PLAIN = "SET tick_files = 9; CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) ORDER BY ts"
PLAIN += " SOURCE 'parquet:in';"


def put(folder: Path, number: int, **columns: pa.Array) -> None:
    (folder / "in").mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / "in" / f"{number}.parquet")


def stamps(unit: str = "us", tz: str | None = "UTC", per_second: int = SECOND_US) -> pa.Array:
    times = [NOON_US // SECOND_US * per_second + n * per_second for n in range(30)]
    return pa.array(times, pa.timestamp(unit, tz))


KS = pa.array(["a", None, "ä"] * 10)
NS = pa.array(range(30), pa.int64())


@pytest.mark.parametrize(
    ("columns", "route"),
    [
        ({"ts": stamps(), "k": KS, "n": NS}, "columnar"),
        ({"ts": stamps("ms", per_second=1000), "k": KS, "n": NS}, "columnar"),
        ({"ts": stamps(tz="Asia/Tokyo"), "k": KS.cast(pa.large_string()), "n": NS}, "columnar"),
        ({"ts": stamps(), "k": KS.dictionary_encode(), "n": NS, "more": NS}, "columnar"),
        ({"n": NS, "TS": stamps(), "K": KS}, "columnar"),
        ({"ts": stamps(tz=None), "k": KS, "n": NS}, "catalyst"),
        ({"ts": stamps(), "k": KS, "n": NS.cast(pa.int32())}, "catalyst"),
        ({"ts": stamps(), "k": KS}, "catalyst"),
    ],
)
def test_files_that_are_not_as_declared_are_left_to_catalyst(
    tmp_path: Path, columns: dict[str, pa.Array], route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, 0, ts=stamps(), k=KS, n=NS)
    put(tmp_path, 1, **columns)
    told = [tell(tmp_path, r, PLAIN, [COUNTS], monkeypatch) for r in ("threads", "catalyst")]
    assert told[0][0].routes == {route: 1}
    assert told[0][1:] == told[1][1:]
    assert [row[2:] for row in told[0][1][0]].count(("ä", 6, 8)) == 1


def test_an_unreadable_file_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0, ts=stamps(), k=KS, n=NS)
    whole = (tmp_path / "in" / "0.parquet").read_bytes()
    # The footer is sound, so that it is only found out when rows are read.
    broken = whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :]
    (tmp_path / "in" / "1.parquet").write_bytes(broken)
    for route in ROUTES:
        report, (answers,), _ = tell(tmp_path, route, PLAIN, [COUNTS], monkeypatch)
        assert [Path(path).name for path in report.skipped_files] == ["1.parquet"]
        assert report.routes == {ROUTES[route]: 1}
        assert sum(row[3] for row in answers) == report.rows_in == 30


def test_a_plan_that_needs_expressions_is_left_to_catalyst(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, 0, ts=stamps(), k=KS, n=NS)
    more = "SELECT n % 3 AS m, COUNT(*) AS c FROM s [RANGE 10 s SLIDE 10 s] GROUP BY n % 3"
    report, answers, _ = tell(tmp_path, "threads", PLAIN, [COUNTS, more], monkeypatch)
    assert report.routes == {"catalyst": 1}
    assert [len(rows) for rows in answers] == [9, 9]


def test_rows_of_files_with_many_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows(random.Random(5), "disordered", 300)
    (tmp_path / "in").mkdir()
    pq.write_table(table_of(rows), tmp_path / "in" / "0.parquet", row_group_size=40)
    script = f"CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in';"
    query = (
        "SELECT k, name, COUNT(*) AS a, SUM(n) AS b FROM s [RANGE 9 s SLIDE 4 s] GROUP BY k, name"
    )
    told = [tell(tmp_path, route, script, [query], monkeypatch) for route in ROUTES]
    assert [report.routes for report, *_ in told] == [{route: 1} for route in ROUTES.values()]
    assert told[0][1] == told[1][1] == told[2][1]
    assert len(told[0][1][0]) > 100


@pytest.mark.parametrize(
    ("numbers", "told", "route"),
    [
        (NS, "arrays make the partials", "columnar"),
        (NS.cast(pa.int32()), "not arrays: the files do not hold just what is", "catalyst"),
    ],
)
def test_what_explain_says_comes_true(
    tmp_path: Path, numbers: pa.Array, told: str, route: str
) -> None:
    put(tmp_path, 0, ts=stamps(), k=KS, n=numbers)
    with Engine(tmp_path / "home") as engine:
        engine.sql(f"{PLAIN} CREATE QUERY q AS {COUNTS}", tmp_path)
        (text,) = engine.sql("EXPLAIN SPARK QUERY q")
        assert told in text
        assert engine.run("flush").routes == {route: 1}


# (n + m) and the like at the ends of their types, and what is no number.
EXTREMES = (
    *((2**63 - 1, 2**31 - 1, float("nan")), (-(2**63), -(2**31), float("inf"))),
    *((None, 7, float("-inf")), (2**62, None, -0.0), (1, 1, None), (-1, 0, 1e308)),
)
COMPUTED = (
    *("n + m", "n - m", "m - n", "n * 8", "n * n", "-n", "m + 1", "m * m", "m - 1", "-m"),
    *("x + x", "x * 10", "x - n", "x * -1.5", "n + x", "m * 1.5e0", "m > n", "x >= m"),
)


def test_computed_columns_have_the_values_of_spark(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row a window, so that each value is seen."""
    n, m, x = zip(*EXTREMES, strict=True)
    stamped = stamps()[: len(EXTREMES)]
    put(
        tmp_path, 0, ts=stamped, n=pa.array(n, pa.int64()), m=pa.array(m, pa.int32()), x=pa.array(x)
    )
    script = "CREATE STREAM s (ts TIMESTAMP, n BIGINT, m INT, x DOUBLE) ORDER BY ts"
    script += " SOURCE 'parquet:in';"
    items = ", ".join(f"MAX({sql}) AS a{place}" for place, sql in enumerate(COMPUTED))
    query = f"SELECT {items} FROM s [RANGE 1 s SLIDE 1 s]"
    told = {r: tell(tmp_path, r, script, [query], monkeypatch) for r in ROUTES}
    forms = [to_spark_sql(parse_tree(sql)) for sql in COMPUTED]
    rows = spark.read.parquet(str(tmp_path / "in")).selectExpr("*", *forms).toArrow()
    expected = [plain_values(column) for column in rows.columns[4:]]
    for route, (report, (answers,), _) in told.items():
        assert report.routes == {ROUTES[route]: 1}
        values = list(zip(*sorted(answers, key=lambda row: row[0]), strict=True))[2:]
        assert list(map(list, values)) == expected, route
    raised = {route: report.raised["q0"] for route, (report, *_) in told.items()}
    assert set(raised.values()) == {14}
