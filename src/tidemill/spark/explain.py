"""EXPLAIN SPARK: the physical plan of a synopsis's partials, as Spark prints it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from tidemill.catalog import Stream
from tidemill.errors import refuse
from tidemill.settings import Settings
from tidemill.spark.partials import Admission, partials, stream_columns
from tidemill.spark.rows import read_rows
from tidemill.spark.sources import Source
from tidemill.synopsis.model import Synopsis


def explain_partials(
    session: SparkSession, stream: Stream, source: Source, synopsis: Synopsis, settings: Settings
) -> str:
    """The plan a tick would run over some input of the source."""
    taken = source.any_input(settings)
    if taken is None:
        refuse("E_SOURCE", f"stream {stream.name} has no input yet, so there is no plan to show")
    rows = read_rows(session, stream, source, taken, stream_columns(synopsis))
    frame = partials(session, rows, synopsis, Admission(stream, 0, 0, source.is_text), buckets=2)
    jvm: Any = session._jvm
    text = jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted")
    return str(text).strip()
