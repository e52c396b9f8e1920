"""The Parquet sink: many queries' rows in few staged files, one rolled file each, once."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill.answer.rows import stage
from tidemill.catalog import Sink
from tidemill.catalog.addresses import Address
from tidemill.connect.sinks import Batch, SinkTools
from tidemill.connect.sinks.console import print_frame
from tidemill.connect.sinks.parquet import ParquetSink
from tidemill.settings import Settings

QUERIES = tuple(f"q{number}" for number in range(5))
COUNTS = np.array([2, 0, 1, 3, 1])


@pytest.fixture
def sink(tmp_path: Path) -> ParquetSink:
    return opened(tmp_path)


def opened(tmp_path: Path) -> ParquetSink:
    connection = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    tools = SinkTools(connection, tmp_path / "staging", Settings(), print_frame)
    return ParquetSink(Sink("out", Address("parquet", str(tmp_path / "out"))), tools)


def batch(tick: int) -> Batch:
    """Row n of query q of tick t has the value 100 t + 10 q + n."""
    values = [
        100 * tick + 10 * query + row
        for query, count in enumerate(COUNTS.tolist())
        for row in range(count)
    ]
    return Batch(tick, QUERIES, COUNTS, rows=pa.table({"v": values}))


def deliver(sink: ParquetSink, one: Batch) -> None:
    sink.deliver(one)
    sink.record()
    sink.committed(0)


def rolled(tmp_path: Path, query: str) -> list[int]:
    files = sorted((tmp_path / "out" / f"query={query}").glob("*.parquet"))
    return [value for file in files for value in pq.ParquetFile(file).read()["v"].to_pylist()]


def held(sink: ParquetSink, query: str) -> list[int]:
    return [value for table in sink.tables(query) for value in table["v"].to_pylist()]


def test_a_tick_of_many_queries_is_one_file(sink: ParquetSink, tmp_path: Path) -> None:
    deliver(sink, batch(1))
    deliver(sink, batch(2))
    assert len(list((tmp_path / "staging").glob("*.parquet"))) == 2
    assert [held(sink, query) for query in QUERIES] == [
        [100, 101, 200, 201],
        [],
        [120, 220],
        [130, 131, 132, 230, 231, 232],
        [140, 240],
    ]


def test_rolling_gives_every_query_its_own_rows_and_leaves_nothing(
    sink: ParquetSink, tmp_path: Path
) -> None:
    for tick in (1, 2):
        deliver(sink, batch(tick))
    sink.settle("q3")
    assert rolled(tmp_path, "q3") == [130, 131, 132, 230, 231, 232]
    assert len(list((tmp_path / "staging").glob("*.parquet"))) == 2
    before = {query: held(sink, query) for query in QUERIES}
    sink.close(dict.fromkeys(QUERIES, pa.schema([("v", pa.int64())])))
    assert {query: rolled(tmp_path, query) for query in QUERIES} == before
    assert not list((tmp_path / "staging").glob("*.parquet"))


def test_what_was_delivered_and_not_recorded_is_swept(sink: ParquetSink, tmp_path: Path) -> None:
    deliver(sink, batch(1))
    sink.deliver(batch(2))
    again = opened(tmp_path)
    again.recover()
    assert held(again, "q0") == [100, 101]
    assert len(list((tmp_path / "staging").glob("*.parquet"))) == 1


def test_a_file_that_a_task_staged_is_taken_as_it_is(sink: ParquetSink, tmp_path: Path) -> None:
    name = stage(tmp_path / "staging", 1, pa.table({"v": [7, 8]}))
    deliver(sink, Batch(1, ("q0",), np.array([2]), staged=name))
    assert held(sink, "q0") == [7, 8]
    sink.settle("q0")
    assert rolled(tmp_path, "q0") == [7, 8]
