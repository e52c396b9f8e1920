"""A sample on arrays says what Spark's own says: the same rows, rate, keys and predicates."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill import Engine
from tidemill.arrays import IntArray
from tidemill.catalog import Stream
from tidemill.clock import SystemClock
from tidemill.connect.sources import AnySource, open_source
from tidemill.connect.sources.contract import SourceTools
from tidemill.settings import Settings
from tidemill.share.feeds import scan_of
from tidemill.spark.sampling import sample_by_spark, sample_on_arrays
from tidemill.state.feed import Scan

ROWS = 5000
SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT, x INT) ORDER BY ts SOURCE 'parquet:in';
CREATE QUERY a AS SELECT k, SUM(n) AS t FROM s [RANGE 9 SECONDS] WHERE n > 40 GROUP BY k;
CREATE QUERY b AS SELECT x, COUNT(*) AS c FROM s [RANGE 7 SECONDS] WHERE k <> 'b' GROUP BY x;
CREATE QUERY c AS SELECT COUNT(*) AS c FROM s [RANGE 7 SECONDS] WHERE x IS NULL OR n < 10;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(7)
    times = pa.array(np.sort(random.integers(0, 60_000_000, ROWS)))
    rows = {
        "ts": times.cast(pa.timestamp("us", "UTC")),
        "k": pa.array(random.choice(["a", "b", "c"], ROWS), mask=random.random(ROWS) < 0.1),
        "n": pa.array(random.integers(0, 90, ROWS), mask=random.random(ROWS) < 0.1),
        "x": pa.array(random.integers(0, 5, ROWS).astype(np.int32), mask=random.random(ROWS) < 0.1),
    }
    (tmp_path / "in").mkdir()
    for number, half in enumerate((slice(0, 3000), slice(3000, ROWS))):
        table = pa.table(rows)[half]
        pq.write_table(table, tmp_path / "in" / f"{number}.parquet")
    return tmp_path


def scanned(folder: Path) -> tuple[Stream, Scan, AnySource]:
    with Engine(folder / "home") as engine:
        engine.sql(SCRIPT, folder)
        stream = engine.catalog.stream("s")
        source = open_source(stream, SourceTools(SystemClock(), cast(Any, None)))
        return stream, scan_of(list(engine.plan.queries)), source


def test_arrays_and_spark_take_the_same_sample(spark, folder: Path) -> None:
    stream, scan, source = scanned(folder)
    portion = cast(Any, source.any_input(Settings()))
    there = sample_by_spark(spark, stream, source, portion, scan)
    here = sample_on_arrays(stream, source, portion, scan)
    assert here is not None
    assert (here.size, here.rows_per_second) == (there.size, there.rows_per_second) != (0, 0.0)
    assert here.bits.keys() == there.bits.keys()
    assert len(here.bits) >= 3
    assert all(np.array_equal(here.bits[p], there.bits[p]) for p in here.bits)
    assert here.keys.keys() == there.keys.keys() == {"k", "x"}
    assert all(same_groups(here.keys[k], there.keys[k]) for k in here.keys)


def same_groups(left: IntArray, right: IntArray) -> bool:
    pairs = np.unique(np.stack([left, right]), axis=1).shape[1]
    return bool(pairs == len(np.unique(left)) == len(np.unique(right)))


def test_what_is_not_plain_is_left_to_spark(folder: Path) -> None:
    stream, scan, source = scanned(folder)
    portion = cast(Any, source.any_input(Settings()))
    assert sample_on_arrays(stream, source, portion, scan) is not None
    (folder / "in" / "0.parquet").write_bytes(b"no Parquet at all")
    assert sample_on_arrays(stream, source, portion, scan) is None
