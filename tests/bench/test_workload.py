"""The benchmarks' rows and queries are what their pages say; DuckDB counts, not our engine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet
import pytest
from _predicates import FIFTY, predicates
from _rows import PORTLESS, START_US, Shape, make_files, make_rows
from workload import AGGREGATES, GROUP_BYS, Query, make_queries

SHAPE = Shape(rows=240_000, groups=500, rate=2_000)


@pytest.fixture(scope="module")
def packets() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    rows = make_rows(SHAPE, 0, SHAPE.rows, seed=0)
    connection.register("packets", rows.set_column(0, "ts", rows["ts"].cast(pa.int64())))
    return connection


def test_a_longer_list_begins_with_the_shorter_one() -> None:
    assert make_queries("mixed", 40, SHAPE)[:15] == make_queries("mixed", 15, SHAPE)


def test_windows_have_any_ratio() -> None:
    queries = make_queries("full", 300, SHAPE)
    assert all(10 <= q.range_s <= 120 and 1 <= q.slide_s <= 60 for q in queries)
    assert any(q.slide_s > q.range_s for q in queries)
    assert any(q.slide_s < q.range_s and q.range_s % q.slide_s for q in queries)


def test_multiples_are_multiples_of_more_than_one_slide() -> None:
    queries = make_queries("full", 300, SHAPE, windows="multiples")
    assert all(q.range_s % q.slide_s == 0 for q in queries)
    assert len({q.slide_s for q in queries}) > 20


def test_mixed_queries_use_everything_there_is() -> None:
    queries = make_queries("mixed", 1_000, SHAPE)
    assert {q.where for q in queries} == {None, *FIFTY}
    assert {q.keys for q in queries} == set(GROUP_BYS)
    assert {a for q in queries for a in q.aggregates} == set(AGGREGATES)


@pytest.mark.parametrize("profile", ["one", "mixed", "predicates"])
def test_half_the_queries_take_the_top_and_half_have_a_threshold(profile: str) -> None:
    kinds = Counter((q.top is None, q.having is None) for q in make_queries(profile, 60, SHAPE))
    assert kinds == {(False, True): 30, (True, False): 30}


def test_full_output_has_neither_ending() -> None:
    assert all(q.top is None and q.having is None for q in make_queries("full", 60, SHAPE))


def test_there_are_as_many_different_predicates_as_asked_for() -> None:
    assert len(set(predicates(200))) == 200
    assert predicates(200)[:50] == FIFTY


def test_every_one_of_the_fifty_keeps_some_rows_and_drops_some(packets) -> None:
    for clause in FIFTY:
        kept = packets.sql(f"SELECT COUNT(*) FROM packets WHERE {clause}").fetchall()[0][0]
        assert 0 < kept < SHAPE.rows, clause


@pytest.mark.parametrize("profile", ["one", "mixed"])
def test_about_one_group_in_fifty_passes_having(packets, profile: str) -> None:
    found = [passing(packets, q) for q in make_queries(profile, 120, SHAPE) if q.having]
    passed, groups = (sum(counts) for counts in zip(*found, strict=True))
    assert groups > 2_000
    assert 0.012 < passed / groups < 0.03


def passing(packets: duckdb.DuckDBPyConnection, query: Query) -> tuple[int, int]:
    """Groups of the first whole window that pass, and all of them."""
    where = f"ts < {START_US + query.range_s * 1_000_000}"
    where += f" AND ({query.where})" if query.where else ""
    grouped = f"SELECT COUNT(*) FROM packets WHERE {where}"
    grouped += f" GROUP BY {', '.join(query.keys)}" if query.keys else ""
    sql = f"SELECT COUNT(*) FROM ({grouped} HAVING COUNT(*) > 0 AND {{}})"
    passed, groups = (packets.sql(sql.format(c)).fetchall()[0][0] for c in (query.having, "TRUE"))
    return passed, groups


def test_rows_are_skewed_as_told(packets) -> None:
    rows = packets.sql("SELECT proto, COUNT(*), COUNT(port) FROM packets GROUP BY ALL").fetchall()
    shares = {proto: count / SHAPE.rows for proto, count, _ in rows}
    assert shares["TCP"] == pytest.approx(0.78, abs=0.01)
    assert {proto for proto, _, ported in rows if ported == 0} == set(PORTLESS)
    heaviest = packets.sql("SELECT COUNT(*) FROM packets GROUP BY src ORDER BY 1 DESC").fetchall()[
        0
    ]
    assert heaviest[0] > 20 * SHAPE.rows / SHAPE.groups


def test_csv_and_parquet_hold_the_same_rows(tmp_path: Path) -> None:
    shape = Shape(rows=5_000, groups=50, rate=1_000)
    for file_format in ("csv", "parquet"):
        make_files(tmp_path / file_format, shape, 2_000, 2, file_format)
    binary = pa.parquet.read_table(tmp_path / "parquet")
    naming = pa.csv.ReadOptions(column_names=binary.column_names)
    pieces = [pa.csv.read_csv(path, naming) for path in sorted((tmp_path / "csv").iterdir())]
    text = pa.concat_tables(pieces).set_column(0, "ts", pieces_times(pieces))
    assert text.num_rows == 5_000
    assert text.cast(binary.schema).equals(binary)


def pieces_times(pieces: list[pa.Table]) -> pa.ChunkedArray:
    times = pa.concat_tables(pieces)["ts"].cast(pa.timestamp("us"))
    return pa.compute.assume_timezone(times, "UTC")
