"""Continuous joins beside DuckDB: keys of every type, conditions on results, a limit on rows."""

from __future__ import annotations

import json
import random
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tests.stories.streams import COLUMNS, LATENESS_US, cut, random_rows, table_of, write_files
from tidemill import Engine
from tidemill.errors import TidemillError

STREAMS = "SET tick_files = 1; CREATE SINK out TO 'parquet:out';" + "".join(
    f"CREATE STREAM {name} ({COLUMNS}) ORDER BY ts SOURCE 'parquet:{name}'"
    f" WITH (lateness = '{LATENESS_US // 1_000_000} seconds');"
    for name in ("l", "r")
)
LISTED = "l.n AS ln, r.n AS rn, l.k AS lk, r.w AS rw, r.day AS rday, l.b AS lb, l.name AS lname"
# The key, and what else is asked of rows and of results.
CONDITIONS = {
    "text": "l.k = r.k AND l.m > 0",
    "widened": "l.g = r.n",
    "rounded": "l.n = r.x",
    "two": "l.k = r.k AND l.g = r.g",
    "float": "l.x = r.x",
    "date": "l.day = r.day",
    "truth": "l.b = r.b AND l.n < r.n",
    "mixed": "l.k = r.k AND (l.x + r.x > 10 OR l.b AND NOT r.b)",
}
ALIVE = """
SELECT greatest(l.ts, r.ts) AS event_time,
  least(l.ts + INTERVAL 20 SECONDS, r.ts + INTERVAL 7 SECONDS) AS expires, {}
FROM l JOIN r ON {} WHERE greatest(l.ts, r.ts)
  < least(l.ts + INTERVAL 20 SECONDS, r.ts + INTERVAL 7 SECONDS) ORDER BY ALL
"""


def query(name: str, condition: str, word: str = "") -> str:
    head = f"{word}({LISTED})" if word else LISTED
    return (
        f"CREATE QUERY {name}{word} INTO out AS SELECT {head}"
        f" FROM l [RANGE 20 SECONDS], r [RANGE 7 SECONDS] WHERE {condition};"
    )


@pytest.fixture
def base(tmp_path: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for seed, name in enumerate(("l", "r")):
        rows = random_rows(random.Random(seed + 5), "disordered", 160)
        write_files(tmp_path / name, cut(rows, 4 + seed))
        connection.register(f"{name}_rows", table_of(rows))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_rows")
    return connection


def sorted_rows(base: duckdb.DuckDBPyConnection, rows: pa.Table) -> list[tuple[object, ...]]:
    base.register("answered", rows)
    return base.execute("SELECT * FROM answered ORDER BY ALL").fetchall()


def test_results_of_keys_of_every_type_equal_duckdb(
    base: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAMS, tmp_path)
        counts = []
        for name in CONDITIONS:
            engine.sql(query(name, CONDITIONS[name]) + query(name, CONDITIONS[name], "DSTREAM"))
        report = engine.run("flush")
        for name in CONDITIONS:
            expected = base.execute(ALIVE.format(LISTED, CONDITIONS[name])).fetchall()
            came = engine.query(name).answers().to_arrow()
            gone = engine.query(f"{name}DSTREAM").answers().to_arrow()
            assert repr(sorted_rows(base, came)) == repr(expected), name
            gone = gone.rename_columns(["expires", "event_time", *gone.column_names[2:]])
            assert repr(sorted_rows(base, gone.select(came.column_names))) == repr(expected), name
            assert len(expected) > 2, name
            counts.append(len(expected))
    assert report.ticks > 8
    assert sum(counts) > 500


@pytest.mark.usefixtures("spark")
def test_catalyst_works_out_what_arrays_do_not(
    base: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    listed = "upper(l.k) AS up, r.n AS rn"
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAMS, tmp_path)
        engine.sql(
            f"CREATE QUERY q INTO out AS SELECT {listed} FROM l [RANGE 20 s] JOIN r [RANGE 7 s]"
            " ON lower(l.k) = r.k AND l.g = CAST(r.n % 7 AS INT);"
        )
        engine.run("flush")
        came = engine.query("q").answers().to_arrow()
    condition = "lower(l.k) = r.k AND l.g = CAST(r.n % 7 AS INT)"
    expected = base.execute(ALIVE.format(listed, condition)).fetchall()
    assert sorted_rows(base, came) == expected
    assert len(expected) > 10


@pytest.mark.usefixtures("base")
@pytest.mark.parametrize("never", ["l.k IS NULL", "r.k IS NULL AND l.m > 0"])
def test_conditions_that_exclude_one_another_leave_no_result(never: str, tmp_path: Path) -> None:
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAMS, tmp_path)
        engine.sql(query("met", "l.k = r.k") + query("nobody", f"l.k = r.k AND {never}"))
        engine.run("flush")
        assert len(engine.query("met").answers()) > 10
        assert len(engine.query("nobody").answers()) == 0


def test_lines_come_in_the_order_of_time(base: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with Engine(tmp_path / "home") as engine:
        script = STREAMS.replace("parquet:out", "json:out.json")
        engine.sql(script + query("q", CONDITIONS["text"]), tmp_path)
        engine.run("flush")
    lines = [json.loads(line) for line in (tmp_path / "out.json").read_text().splitlines()]
    times = [datetime.fromisoformat(line["event_time"]) for line in lines]
    assert times == sorted(times)
    assert len(lines) == len(base.execute(ALIVE.format(LISTED, CONDITIONS["text"])).fetchall()) > 9


def test_a_query_that_would_make_too_much_stops_and_the_others_go_on(
    base: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    few = query("few", "l.k = r.k AND l.g = r.g AND l.m = 1")
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAMS + few + query("much", "l.b = r.b"), tmp_path)
        engine.sql("SET most_result_rows = 200")
        report = engine.run("flush")
        (reason,) = report.stopped.values()
        (shown,) = engine.sql("SHOW QUERIES")
        expected = ALIVE.format(LISTED, "l.k = r.k AND l.g = r.g AND l.m = 1")
        assert len(engine.query("few").answers()) == len(base.execute(expected).fetchall())
        made = len(engine.query("much").answers())
    assert reason.startswith("error[E_RESULT_ROWS]: query much is stopped: a tick would make ")
    assert "of them with the key " in reason
    assert "most_result_rows allows 200" in reason
    assert "stopped" in shown
    assert made <= 200 * report.ticks
    with Engine(tmp_path / "home") as engine:
        assert engine.run("idle").stopped
        engine.sql("SET most_result_rows = 1000000; RESUME QUERY much;")
        assert not engine.run("idle").stopped


REFUSALS = {
    "SELECT l.n FROM l [RANGE 2 s], r [RANGE 2 s]": ("E_NOT_BUILT", "a cross join"),
    "SELECT RSTREAM(l.n) FROM l [RANGE 2 s], r [RANGE 2 s] WHERE l.k = r.k": ("E_WINDOW", "SLIDE"),
    "SELECT l.n FROM l [RANGE 2 s] LEFT JOIN r [RANGE 2 s] ON l.k = r.k": ("E_NOT_BUILT", "inner"),
    "SELECT l.n FROM l [RANGE 2 s], r [RANGE 2 s] WHERE l.k = r.k ORDER BY l.n": (
        "E_WINDOW",
        "ORDER BY",
    ),
    "SELECT DISTINCT l.n FROM l [RANGE 2 s], r [RANGE 2 s] WHERE l.k = r.k": (
        "E_NOT_BUILT",
        "DISTINCT",
    ),
    "SELECT concat(l.name, r.name) AS c FROM l [RANGE 2 s], r [RANGE 2 s] WHERE l.k = r.k": (
        "E_NOT_BUILT",
        "by a function over results",
    ),
    "SELECT l.n AS expires FROM l [RANGE 2 s], r [RANGE 2 s] WHERE l.k = r.k": (
        "E_DUPLICATE",
        "expires",
    ),
    "SELECT l.n FROM l [RANGE 2 s] JOIN r [RANGE 2 s] ON l.k = r.k"
    " WHERE NOT EXISTS (SELECT 1 FROM r [RANGE 2 s] AS z WHERE z.k = l.k)": (
        "E_NOT_BUILT",
        "inner",
    ),
}


@pytest.mark.parametrize("select", REFUSALS)
def test_what_has_no_results_one_by_one_is_refused(select: str, tmp_path: Path) -> None:
    code, words = REFUSALS[select]
    (tmp_path / "l").mkdir()
    (tmp_path / "r").mkdir()
    with Engine(tmp_path / "home") as engine:
        with pytest.raises(TidemillError, match=words) as refusal:
            engine.sql(f"{STREAMS} CREATE QUERY q AS {select};", tmp_path)
        assert refusal.value.problem.code == code
        assert refusal.value.problem.place is not None
        for other in (
            "SELECT l.n FROM l [RANGE 2 s], r [RANGE 2 s] WHERE l.k = r.k",
            "CREATE STREAM p AS SELECT l.n AS n FROM l [RANGE 2 s], r [RANGE 2 s] WHERE l.k = r.k",
        ):
            with pytest.raises(TidemillError) as refusal:
                engine.sql(f"{STREAMS} {other};", tmp_path)
            assert refusal.value.problem.code in ("E_NOT_BUILT", "E_WINDOW"), refusal.value
