"""Joins of windows over all that FROM can name: tables beside streams, derived streams, unions.

Answers equal DuckDB's over the rows of each instant.
"""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tests.stories.joins import (
    COLUMNS,
    LATENESS,
    NOON_US,
    SECOND_US,
    JoinCase,
    Look,
    Row,
    differences,
    random_rows,
)
from tests.stories.test_window_joins import answers_of, batch_of, write_streams
from tidemill.engine import Engine

HOSTS = [("a", "red", 1), ("b", "blue", 2), ("b", "red", 3), ("d", None, 1), ("e", "blue", 0)]
SCRIPT = "".join(
    f"CREATE STREAM {name} ({COLUMNS}) ORDER BY ts SOURCE 'parquet:{name}'"
    f" WITH (lateness = '{LATENESS} seconds');"
    for name in ("s1", "s2")
)
DERIVED = """
CREATE TABLE hosts (host STRING, team STRING, rank INT) SOURCE 'parquet:hosts';
CREATE STREAM high AS SELECT ts, k, v * 2 AS w, j FROM s2 WHERE v > 2;
CREATE STREAM all_rows AS SELECT ts, k, v, j FROM s1 UNION ALL SELECT ts, k, j, v FROM s2 WHERE b;
"""
VIEWS = """
CREATE VIEW high AS SELECT ts, k, v * 2 AS w, j FROM s2 WHERE v > 2;
CREATE VIEW all_rows AS SELECT ts, k, v, j FROM s1 UNION ALL SELECT ts, k, j, v FROM s2 WHERE b;
"""
# With {n} for the n-th window: its stream, its length, and its slide if it has one.
TEMPLATES = (
    (
        """SELECT h.team, COUNT(*) AS n, SUM(q.v) AS v FROM {0} JOIN hosts AS h ON p.k = h.host
        JOIN {1} ON q.k = p.k WHERE h.rank > 0 GROUP BY h.team""",
        (("s1", 8, 2), ("s2", 5, None)),
    ),
    (
        """SELECT g.team, p.v, COUNT(*) AS n, COUNT(g.rank) AS m FROM {0} LEFT JOIN {1} ON q.k = p.k
        LEFT JOIN hosts AS g ON q.k = g.host GROUP BY g.team, p.v""",
        (("s1", 4, 2), ("s2", 9, None)),
    ),
    (
        """SELECT COUNT(*) AS n, SUM(h.rank) AS r FROM {0} JOIN {1} ON q.k = p.k
        LEFT JOIN hosts AS h ON p.k = h.host WHERE h.team IS NULL OR h.team = 'red'""",
        (("s1", 4, None), ("s2", 9, 3)),
    ),
    (
        """SELECT q.k, COUNT(*) AS n, SUM(q.w) AS w, MIN(p.v) AS low FROM {0}
        RIGHT JOIN {1} ON q.k = p.k AND q.j = p.j GROUP BY q.k""",
        (("all_rows", 7, 5), ("high", 3, None)),
    ),
    (
        """SELECT p.j, COUNT(*) AS n, SUM(p.v) AS v FROM {0}
        WHERE NOT EXISTS (SELECT 1 FROM {1} WHERE q.k = p.k AND q.v > 5)
        AND p.k IN (SELECT r.k FROM {2}) GROUP BY p.j""",
        (("all_rows", 6, 3), ("all_rows", 10, None), ("high", 4, None)),
    ),
    (
        """SELECT k, COUNT(*) AS n, SUM(p.v) AS v, SUM(r.w) AS w FROM {0} FULL JOIN {1} USING (k)
        FULL JOIN {2} USING (k) GROUP BY k""",
        (("s1", 3, None), ("all_rows", 2, 4), ("high", 3, None)),
    ),
    (
        """SELECT h.team, COUNT(*) AS n, SUM(p.v) AS v FROM {0} JOIN hosts AS h ON p.k = h.host
        JOIN {1} ON p.k = q.k AND h.rank = q.j GROUP BY h.team""",
        (("all_rows", 9, 4), ("s2", 9, None)),
    ),
    (
        "SELECT COUNT(*) AS n, MAX(q.w) AS w FROM {0}, {1}, {2} WHERE p.k = q.k AND r.k = q.k",
        (("s1", 5, None), ("high", 5, 5), ("s1", 2, None)),
    ),
)


def cases() -> list[JoinCase]:
    made = []
    for number, (template, windows) in enumerate(TEMPLATES):
        looks = tuple(Look(w[0], alias, *w[1:]) for alias, w in zip("pqr", windows, strict=False))
        outer = template.partition("WHERE NOT EXISTS")[0]
        longest_s = max(look.range_s for n, look in enumerate(looks) if f"{{{n}}}" in outer)
        groups = template.count("GROUP BY")
        made.append(JoinCase(f"q{number}", template, looks, longest_s, groups))
    return made


def base_of(streams: dict[str, list[Row]]) -> duckdb.DuckDBPyConnection:
    base = batch_of(streams)
    base.execute("CREATE TABLE hosts (host VARCHAR, team VARCHAR, rank INT)")
    base.executemany("INSERT INTO hosts VALUES (?, ?, ?)", HOSTS)
    base.execute(VIEWS)
    return base


def test_tables_derived_streams_and_unions_are_joined_over_windows(tmp_path: Path) -> None:
    rng = random.Random(7)
    streams = {name: random_rows(rng, 60, 40) for name in ("s1", "s2")}
    write_streams(tmp_path, streams, {"s1": 5, "s2": 3})
    (tmp_path / "hosts").mkdir()
    columns = [list(column) for column in zip(*HOSTS, strict=True)]
    schema = pa.schema([("host", pa.string()), ("team", pa.string()), ("rank", pa.int32())])
    pq.write_table(pa.table(columns, schema=schema), tmp_path / "hosts" / "hosts.parquet")
    with Engine(tmp_path / "home") as engine:
        sink = "SET tick_files = 1; CREATE SINK out TO 'parquet:out';"
        engine.sql(f"{sink} {SCRIPT} {DERIVED}", tmp_path)
        engine.sql("\n".join(case.create for case in cases()))
        report = engine.run("flush")
        assert report.rows_late == 0
        assert report.ticks > 4
        base, wrong, compared = base_of(streams), list[str](), list[int]()
        for case in cases():
            batch = list(case.answers(base, NOON_US + 40 * SECOND_US))
            wrong += differences(case.create, answers_of(engine, case), batch)[:3]
            compared.append(len(batch))
        assert wrong == []
        assert min(compared) >= 5
