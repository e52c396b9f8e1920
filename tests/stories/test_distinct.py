"""SELECT DISTINCT beside Spark's own, window by window: of columns, of aggregates, in order, cut,
asked once, and of soft periods."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tests.stories.streams import (
    COLUMNS,
    NOON_US,
    SECOND_US,
    cut,
    disordered_times,
    random_row,
    table_of,
    write_files,
)
from tidemill.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = f"""
SET tick_files = 1;
CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in' WITH (lateness = '5 seconds');
CREATE QUERY held AS SELECT k, g, COUNT(*) AS n, SUM(d) AS d, MAX(x) AS x, MIN(f) AS f
FROM s [RANGE 40 SECONDS SLIDE UP TO 40 SECONDS] GROUP BY k, g;
CREATE QUERY soft AS SELECT DISTINCT COUNT(*) AS n
FROM s [RANGE 40 SECONDS SLIDE UP TO 40 SECONDS] GROUP BY k, g ORDER BY n;
"""
# A list and the rest of the query; Spark has the same for each window.
QUERIES = {
    "columns": ("k, b", ""),
    "computed": ("g % 2 AS odd, UPPER(k) AS k", "WHERE m > 3"),
    "floats": ("x", "WHERE g = 1"),
    "constant": ("'a' AS a, 1 AS one", ""),
    "bounds": ("k, window_end AS until", ""),
    "mixed": ("DATE_ADD(day, SECOND(window_end)) AS d", ""),
    "counts": ("COUNT(*) AS n", "GROUP BY k, g"),
    "several": ("COUNT(g) AS n, MAX(b) AS b", "GROUP BY k, day HAVING COUNT(*) > 1"),
    "spark": ("FORMAT_NUMBER(COUNT(*), 1) AS n", "GROUP BY k, g"),
    "ordered": ("COUNT(*) AS n, k", "GROUP BY k, g ORDER BY n DESC, 2 LIMIT 3"),
    "cut": ("g", "ORDER BY g DESC NULLS LAST LIMIT 2"),
    "lists": ("COLLECT(b, 3) AS bs", "GROUP BY k, g"),
}
# What aggregates of ours are in Spark's words.
SPARKS = {
    "COLLECT(b, 3) AS bs": "IF(COUNT(b) > 0, SLICE(ARRAY_SORT(COLLECT_LIST(b)), 1, 3), NULL) AS bs,"
    " COUNT(b) AS bs_total"
}
LENGTHS = ((20, 10), (10, 30))


def test_distinct_answers_equal_sparks(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(12)
    rows = [random_row(rng, time_us) for time_us in disordered_times(rng, 500)]
    write_files(tmp_path / "in", cut(rows, 5))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("rows")
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT + creations(), tmp_path)
        engine.run("flush")
        fewer = 0
        for name, (items, rest) in QUERIES.items():
            for number, lengths in enumerate(LENGTHS):
                got = told(engine.query(f"{name}_{number}").answers().to_arrow(), name)
                wanted = batch(spark, items, rest, lengths, name)
                assert list(map(repr, got)) == list(map(repr, wanted)), name
                if "GROUP BY" in rest:
                    whole = engine.query(f"{name}_{number}_all").answers().to_arrow()
                    fewer += len(whole) - len(got)
                assert len(got) > 5
        assert fewer > 300
        (once,) = engine.ask(
            "SELECT DISTINCT COUNT(*) AS n FROM s [RANGE 40 SECONDS] GROUP BY k, g"
        )
        (every,) = engine.ask("SELECT COUNT(*) AS n FROM s [RANGE 40 SECONDS] GROUP BY k, g")
        counts = [row[-1] for row in every.to_dict()["rows"]]
        assert sorted(row[-1] for row in once.to_dict()["rows"]) == sorted(set(counts))
        assert len(set(counts)) < len(counts)
        every_run, each_once = (engine.query(q).answers().to_arrow() for q in ("held", "soft"))
        last = pc.max(every_run.column("window_end"))
        runs = [t.filter(pc.equal(t.column("window_end"), last)) for t in (every_run, each_once)]
        held_counts, once_counts = (table.column("n").to_pylist() for table in runs)
        assert once_counts == sorted(set(held_counts))
        assert len(once_counts) < len(held_counts)


def creations() -> str:
    """Each query with distinct rows and, where that is a query too, with all."""
    return "\n".join(
        f"CREATE QUERY {name}_{number}{kind} AS SELECT {distinct}{items} FROM s"
        f" [RANGE {length} SECONDS SLIDE {slide} SECONDS] {rest};"
        for name, (items, rest) in QUERIES.items()
        for number, (length, slide) in enumerate(LENGTHS)
        for kind, distinct in (("", "DISTINCT "), ("_all", ""))
        if distinct or "GROUP BY" in rest
    )


def batch(
    spark: SparkSession, items: str, rest: str, lengths: tuple[int, int], name: str
) -> list[tuple[Any, ...]]:
    """The answers of batch SQL to every window that has rows."""
    length_us, slide_us = (seconds * SECOND_US for seconds in lengths)
    for ours, sparks in SPARKS.items():
        items = items.replace(ours, sparks)
    first_us = NOON_US - length_us
    times = spark.sql("SELECT MAX(UNIX_MICROS(ts)) AS last FROM rows").first()
    assert times is not None
    wanted: list[tuple[Any, ...]] = []
    for low in range(first_us - first_us % slide_us, times["last"] + 1, slide_us):
        end = f"TIMESTAMP_MICROS({low + length_us})"
        bounds = f"UNIX_MICROS(ts) >= {low} AND UNIX_MICROS(ts) < {low + length_us}"
        of_window = f"(SELECT *, {end} AS window_end FROM rows WHERE {bounds})"
        table = spark.sql(f"SELECT DISTINCT {items} FROM {of_window} {rest}").toArrow()
        stamp = pa.array([low] * len(table), pa.int64())
        wanted += told(table.add_column(0, "low", stamp).add_column(1, "high", stamp), name)
    return wanted if "ORDER BY" in rest else sorted(wanted, key=repr)


def told(table: pa.Table, name: str) -> list[tuple[Any, ...]]:
    """The start of the window and the list, by window."""
    table = table.set_column(0, "low", table.column(0).cast(pa.int64()))
    values = (c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in table.columns[2:])
    columns = [table.column(0).to_pylist(), *(column.to_pylist() for column in values)]
    rows = sorted(zip(*columns, strict=True), key=lambda row: row[0])
    return rows if "ORDER BY" in QUERIES[name][1] else sorted(rows, key=repr)
