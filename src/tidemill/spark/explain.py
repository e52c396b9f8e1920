"""EXPLAIN SPARK: the physical plan of a synopsis's partials, as Spark prints it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame


def explain_frame(frame: DataFrame) -> str:
    session: Any = frame.sparkSession
    execution = frame._jdf.queryExecution()
    text = session._jvm.PythonSQLUtils.explainString(execution, "formatted")
    return str(text).strip()
