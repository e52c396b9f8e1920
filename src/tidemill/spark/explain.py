"""EXPLAIN SPARK: the physical plan of a pass over the rows, as Spark prints it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tidemill.catalog import Stream
from tidemill.errors import refuse
from tidemill.settings import Settings
from tidemill.spark.admission import Admission
from tidemill.spark.joins import Tables
from tidemill.spark.partials import partials, passes_of
from tidemill.spark.rows import read_rows
from tidemill.spark.sources import Source
from tidemill.synopsis.feed import Feed


def explain_partials(
    session: SparkSession,
    stream: Stream,
    source: Source,
    feeds: Sequence[Feed],
    settings: Settings,
    tables: Tables,
) -> str:
    """The plans a tick would run over some input of the source, one for each pass."""
    taken = source.any_input(settings)
    if taken is None:
        refuse("E_SOURCE", f"stream {stream.name} has no input yet, so there is no plan to show")
    columns = [name for feed in feeds for name in feed.scan.columns]
    rows = read_rows(session, stream, source, taken, columns)
    passes = passes_of(feeds, Admission(stream, 0, 0, source.is_text), buckets=2)
    return "\n\n".join(_explained(session, partials(session, rows, one, tables)) for one in passes)


def _explained(session: SparkSession, frame: DataFrame) -> str:
    jvm: Any = session._jvm
    text = jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted")
    return str(text).strip()
