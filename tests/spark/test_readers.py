"""Rows of a source as a DataFrame are the rows that the source makes without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidemill.catalog import stream_of
from tidemill.clock import SystemClock
from tidemill.connect.sources import Extent, Files, Position, SourceTools, open_source
from tidemill.connect.sources.check import rows_here
from tidemill.language import parse_script
from tidemill.language.statements import CreateStream
from tidemill.settings import Settings
from tidemill.spark.readers import frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = """
CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=50&duration=5s&disorder=2s'
"""


def no_measure(files: Files, time_column: str) -> dict[str, Extent]:
    raise AssertionError("only recordings are measured")


def test_blocks_are_the_same_wherever_they_are_made(spark: SparkSession):
    (statement,) = parse_script(SCRIPT)
    assert isinstance(statement, CreateStream)
    source = open_source(stream_of(statement), SourceTools(SystemClock(), no_measure))
    portion = source.next_input(Position(), Settings(), draining=True)
    rows = source.read(portion, ("length", "ts", "port", "src"))
    here, there = rows_here(rows), frame_of(spark, rows).toArrow()
    assert there.column_names == here.column_names == ["length", "ts", "port", "src"]
    assert len(here) > 200
    order = [(name, "ascending") for name in here.column_names]
    assert there.sort_by(order).to_pylist() == here.sort_by(order).to_pylist()
