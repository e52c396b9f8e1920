"""ISTREAM and DSTREAM beside batch SQL of DuckDB: EXCEPT ALL between neighbouring windows.

A row of the window one slide before, moved to this one, is a row of this one or has gone. Every
file is a run of its own, so what a window is compared with was often answered by another process.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from tests.stories.streams import (
    COLUMNS,
    NOON_US,
    SECOND_US,
    Row,
    cut,
    random_row,
    write_files,
)
from tidemill.engine import Engine

PARTS = 6
BURST_US = 70 * SECOND_US
SCRIPT = f"""
SET tick_files = 1;
CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in';
CREATE STREAM twice AS SELECT ts, k, m, day FROM s UNION ALL SELECT ts, name, g, day FROM s;
CREATE SINK out TO 'parquet:out';
"""
# A list, and the rest of the query; ROW is what FROM reads with the bounds of windows.
QUERIES = {
    "groups": ("k, COUNT(*) AS n, MIN(day) AS day", "s", "GROUP BY k"),
    "above": ("k, SUM(g) AS total", "s", "WHERE m > 0 GROUP BY k HAVING COUNT(*) > 2"),
    "top": ("k, COUNT(*) AS n", "s", "GROUP BY k ORDER BY n DESC, k NULLS FIRST LIMIT 2"),
    "tops": (
        "MAX(g) AS g",
        "s",
        "GROUP BY k, b ORDER BY g DESC NULLS LAST, k NULLS FIRST, b NULLS FIRST LIMIT 3",
    ),
    "alone": ("COUNT(*) AS n, AVG(g) AS mean", "s", "WHERE k = 'a'"),
    "floats": ("k, SUM(f) AS f", "s", "GROUP BY k"),
    "repeated": ("g % 2 AS odd", "s", "GROUP BY g"),
    "values": ("DISTINCT k, b", "s", ""),
    "counts": ("DISTINCT COUNT(*) AS n", "s", "GROUP BY k, g"),
    "both": ("k, COUNT(*) AS n, SUM(m) AS m", "twice", "WHERE m < 99 GROUP BY k"),
}
LENGTHS = ((40, 10, 3), (10, 10, 0), (10, 20, 0), (25, 10, 0))


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bursts with gaps between them in which answers go, taken by a run for each file."""
    folder, rng = tmp_path_factory.mktemp("deltas"), random.Random(4)
    bursts = [NOON_US + BURST_US * number for number in range(10)]
    times = [burst + rng.randrange(20 * SECOND_US) for burst in bursts for _ in range(15)]
    rows = [random_row(rng, time_us) for time_us in sorted(times)]
    for row in rows:
        # Sums of these are exact, in whatever order.
        row["m"] = row["m"] and min(row["m"], 99)
        row["f"] = row["f"] and rng.randrange(400) / 4
    for number, part in enumerate(cut(rows, PARTS)):
        write_files(folder / "in", [part], first=number)
        with Engine(folder / "home") as engine:
            engine.sql(SCRIPT if number else SCRIPT + creations(), folder)
            engine.run("flush" if number == PARTS - 1 else "idle")
    return folder


def creations() -> str:
    """Each query with its answers in whole, what is new and what has gone."""
    return "\n".join(
        f"CREATE QUERY {name}_{number}_{word} INTO out AS SELECT {word}({items}) FROM {stream}"
        f" [RANGE {length} SECONDS SLIDE {slide} SECONDS START {start} SECONDS] {rest};"
        for name, (items, stream, rest) in QUERIES.items()
        for number, (length, slide, start) in enumerate(LENGTHS)
        for word in ("RSTREAM", "ISTREAM", "DSTREAM")
    )


def test_changes_are_what_except_all_says(answered: Path) -> None:
    rows = ds.dataset(sorted(map(str, (answered / "in").glob("*.parquet")))).to_table()
    seen = dict.fromkeys(("new", "gone", "stayed", "gone to nothing"), 0)
    with duckdb.connect() as database:
        database.sql("SET TimeZone = 'UTC'")
        database.register("s", rows)
        database.sql(
            "CREATE VIEW twice AS SELECT ts, k, m, day FROM s"
            " UNION ALL SELECT ts, name, g, day FROM s"
        )
        for name, query in QUERIES.items():
            for number, lengths in enumerate(LENGTHS):
                compare(database, answered, f"{name}_{number}", query, lengths, seen)
    assert min(seen.values()) > 100, seen


def compare(
    database: duckdb.DuckDBPyConnection,
    folder: Path,
    name: str,
    query: tuple[str, str, str],
    lengths: tuple[int, int, int],
    seen: dict[str, int],
) -> None:
    items, stream, rest = query
    length_us, slide_us, start_us = (seconds * SECOND_US for seconds in lengths)
    lows = list(range(NOON_US - 2 * length_us, NOON_US + 11 * BURST_US, slide_us))
    lows = [low - low % slide_us + start_us for low in lows]
    answers = " UNION ALL ".join(
        f"(SELECT {low}::BIGINT AS low, * FROM (SELECT {items} FROM "
        f"(SELECT * FROM {stream} WHERE EPOCH_US(ts) >= {low} AND EPOCH_US(ts) < {low + length_us})"
        f" {by(rest)}))"
        for low in lows
    )
    database.sql(f"CREATE OR REPLACE TABLE whole AS {answers}")
    moved = f"SELECT low + {slide_us}, * EXCLUDE low FROM whole"
    wanted = {
        "RSTREAM": rows_of(database, "FROM whole"),
        "ISTREAM": rows_of(database, f"FROM whole EXCEPT ALL {moved}"),
        "DSTREAM": rows_of(database, f"{moved} EXCEPT ALL FROM whole"),
    }
    got = {word: delivered(folder, f"{name}_{word}") for word in wanted}
    for word in wanted:
        assert got[word] == wanted[word], (name, word)
    windows = {row[0] for row in wanted["RSTREAM"]}
    seen["new"] += len(got["ISTREAM"])
    seen["gone"] += len(got["DSTREAM"])
    seen["stayed"] += len(got["RSTREAM"]) - len(got["ISTREAM"])
    seen["gone to nothing"] += sum(row[0] not in windows for row in got["DSTREAM"])


def by(rest: str) -> str:
    """A window without rows has no answer, also of a query without groups."""
    return rest if "GROUP BY" in rest else f"{rest} HAVING COUNT(*) > 0" if rest else ""


def rows_of(database: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return sorted(database.sql(sql).fetchall(), key=repr)


def delivered(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """The answers of a query: the starts of their windows, and the select list."""
    files = sorted(map(str, (folder / "out" / f"query={query}").glob("[!_]*.parquet")))
    table = ds.dataset(files).to_table()
    columns = [table.column(0).cast(pa.int64()).to_pylist()]
    columns += [column.to_pylist() for column in table.columns[2:]]
    return sorted(zip(*columns, strict=True), key=repr)


def answered_in_runs(folder: Path, *between: str) -> dict[str, list[tuple[Any, ...]]]:
    """The changes of a query whose answers are `a` and `b`, and from 30 s on `b` alone; runs end at
    20, 40 and 60 s, with statements after them."""
    for number, statements in enumerate((*between, "", "", "")[:3]):
        seconds = range(20 * number, 20 * number + 20, 2)
        rows = [
            event(second, key) for second in seconds for key in "ab" if key == "b" or second < 30
        ]
        write_files(folder / "in", [rows], first=number)
        with Engine(folder / "home") as engine:
            engine.sql(SCRIPT + CHANGES if number == 0 else "", folder)
            engine.run("idle")
            for statement in statements.split(";"):
                engine.sql(statement, folder)
    with Engine(folder / "home") as engine:
        engine.run("flush")
    names = [path.name.removeprefix("query=") for path in (folder / "out").glob("query=*")]
    return {name: delivered(folder, name) for name in names}


def event(second: int, key: str) -> Row:
    nothing = dict.fromkeys(("g", "b", "m", "n", "x", "f", "d", "w", "name", "day", "at"))
    return {"ts": NOON_US + second * SECOND_US, "k": key, **nothing}


OVER = "(k) FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k;"
CHANGES = f"""
CREATE QUERY new INTO out AS SELECT ISTREAM{OVER}
CREATE QUERY gone INTO out AS SELECT DSTREAM{OVER}
"""


def at(*rows: tuple[int, str]) -> list[tuple[int, str]]:
    return [(NOON_US + second * SECOND_US, key) for second, key in rows]


def test_an_answer_that_goes_on_has_no_changes(tmp_path: Path) -> None:
    answers = answered_in_runs(tmp_path)
    assert answers["new"] == at((-5, "a"), (-5, "b"))
    # A flush closes the windows by which the last rows have gone, too.
    assert answers["gone"] == at((30, "a"), (60, "b"))


def test_a_query_begins_with_an_empty_answer_before(tmp_path: Path) -> None:
    answers = answered_in_runs(tmp_path, CHANGES.replace("new", "later").replace("gone", "since"))
    # Rows in whole are held of the windows that are open.
    assert answers["later"] == at((10, "a"), (10, "b"))
    assert answers["since"] == answers["gone"] == at((30, "a"), (60, "b"))


def test_an_altered_query_begins_anew(tmp_path: Path) -> None:
    alter = f"ALTER QUERY new AS SELECT ISTREAM{OVER.replace('10 SEC', '15 SEC')}"
    answers = answered_in_runs(tmp_path, alter)
    assert answers["new"] == at((-5, "a"), (-5, "b"), (5, "a"), (5, "b"))


def test_a_query_resumes_with_an_empty_answer_before(tmp_path: Path) -> None:
    pause, resume = (f"{word} QUERY new; {word} QUERY gone" for word in ("PAUSE", "RESUME"))
    answers = answered_in_runs(tmp_path / "long", pause, resume)
    assert answers["new"] == at((-5, "a"), (-5, "b"), (30, "b"))
    assert answers["gone"] == at((60, "b"))
    # So it is also where no window has closed meanwhile.
    answers = answered_in_runs(tmp_path / "short", f"{pause}; {resume}")
    assert answers["new"] == at((-5, "a"), (-5, "b"), (10, "a"), (10, "b"))
    assert answers["gone"] == at((30, "a"), (60, "b"))


def test_changes_are_rows_of_a_stream(tmp_path: Path) -> None:
    """Who has come, as a stream of answers, counted by the windows of a query over it."""
    came = """
    CREATE STREAM came AS SELECT ISTREAM(k) FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k;
    CREATE QUERY counted INTO out AS
    SELECT k, COUNT(*) AS times FROM came [RANGE 5 SECONDS SLIDE 5 SECONDS] GROUP BY k;
    """
    rows = [event(second, "a") for second in (0, 3, 31, 33, 90)]
    write_files(tmp_path / "in", cut(rows, 3))
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT + came, tmp_path)
        engine.run("flush")
    counted = [(start, k) for start, k, _ in delivered(tmp_path, "counted")]
    assert counted == at((0, "a"), (30, "a"), (90, "a"))
