"""The example of two joined logs: its answers equal DuckDB's over the same files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb

from tests.docs.blocks import ROOT
from tidemill.engine import Engine

EXAMPLES = ROOT / "examples"
# At instants half a minute apart, over the rows of the windows that end there.
BATCH = """
WITH instants AS (
  SELECT unnest(generate_series(TIMESTAMPTZ '{first}', TIMESTAMPTZ '{last}', INTERVAL 30 SECONDS))
    AS e
), w AS (
  SELECT e, host, name FROM weird, instants WHERE ts >= e - INTERVAL 30 SECONDS AND ts < e
), d AS (
  SELECT e, client, query, rcode FROM dns, instants WHERE ts >= e - INTERVAL {range} AND ts < e
)
SELECT w.e, host, {values} FROM w {join} GROUP BY w.e, host
"""
QUERIES = {
    "odd_and_failing": (
        "1 MINUTE",
        "COUNT(*) AS n, COUNT(DISTINCT name)",
        "WHERE EXISTS (SELECT 1 FROM d WHERE d.e = w.e AND client = host AND rcode <> 0)",
    ),
    "events_and_lookups": (
        "1 MINUTE",
        "COUNT(*) AS n, COUNT(DISTINCT query), MAX(rcode)",
        "JOIN d ON d.e = w.e AND client = host",
    ),
    "silent_but_odd": (
        "5 MINUTES",
        "COUNT(*) AS n",
        "WHERE NOT EXISTS (SELECT 1 FROM d WHERE d.e = w.e AND client = host)",
    ),
}


def test_answers_equal_batch(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "data" / "zeek", tmp_path / "data" / "zeek")
    assert compared(tmp_path) > 10


def compared(folder: Path) -> int:
    """The answers of all queries, each the three largest of an instant; ties go by host."""
    base, answers = duckdb.connect(), 0
    base.execute("SET TimeZone = 'UTC'")
    for name in ("dns", "weird"):
        files = folder / "data" / "zeek" / name / "*.csv"
        base.execute(f"CREATE VIEW {name} AS FROM read_csv('{files}', header = true)")
    (first, last) = base.execute(
        "SELECT date_trunc('minute', MIN(ts)), date_trunc('minute', MAX(ts)) + INTERVAL 6 MINUTES"
        " FROM (SELECT ts FROM dns UNION ALL SELECT ts FROM weird)"
    ).fetchall()[0]
    with Engine(folder / "home", default_sink="memory") as engine:
        engine.sql((EXAMPLES / "joins.sql").read_text(), folder)
        report = engine.run("flush")
        assert report.rows_late == 0
        for name, (span, values, join) in QUERIES.items():
            text = BATCH.format(first=first, last=last, range=span, values=values, join=join)
            ranked = (
                "QUALIFY row_number() OVER (PARTITION BY e ORDER BY n DESC, host NULLS FIRST) <= 3"
            )
            batch = base.execute(f"SELECT * FROM ({text}) {ranked}").fetchall()
            assert sorted(rows_of(engine, name), key=repr) == sorted(batch, key=repr)
            answers += len(batch)
    return answers


def rows_of(engine: Engine, query: str) -> list[tuple[Any, ...]]:
    table = engine.query(query).answers().to_arrow().drop_columns("window_start")
    return [tuple(row.values()) for row in table.to_pylist()]
