"""Sketches beside exact answers: every group of every window of one query, both in one run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from _rows import SCHEMA, Shape, make_files

import tidemill
from tidemill.arrays import FloatArray

_SKETCHES = {
    "HLL": ("APPROX_COUNT_DISTINCT(length)", "COUNT(DISTINCT length)"),
    "theta": ("APPROX_COUNT_DISTINCT(length, method => 'theta')", "COUNT(DISTINCT length)"),
    "KLL": ("APPROX_PERCENTILE(length, 0.99)", "PERCENTILE(length, 0.99)"),
    "count-min": ("APPROX_COUNT(length, 1500)", "COUNT(CASE WHEN length = 1500 THEN 1 END)"),
}
# PERCENTILE goes between two values where a sketch names one of them, so bounds of the one need
# not hold the other.
_BETWEEN_VALUES = ("KLL",)


@dataclass(frozen=True)
class Accuracy:
    """Errors relative to the exact value, and the share of answers whose bounds hold it."""

    name: str
    answers: int
    mean_error: float
    largest_error: float
    within: float | None


def measure_accuracy(scratch: Path, rows: int) -> list[Accuracy]:
    data = scratch / "accuracy-rows"
    make_files(data, Shape(rows=rows), rows // 2, 2)
    with tidemill.Engine(scratch / "accuracy-home") as engine:
        engine.sql(f"CREATE STREAM packets ({SCHEMA}) ORDER BY ts SOURCE 'parquet:{data}';")
        engine.sql("CREATE SINK kept TO 'memory:';")
        for number, (sketch, exact) in enumerate(_SKETCHES.values()):
            engine.sql(
                f"CREATE QUERY q{number} INTO kept AS SELECT src, {sketch} AS a, {exact} AS e "
                "FROM packets [RANGE 10 SECONDS SLIDE 2 SECONDS] GROUP BY src;"
            )
        engine.run("flush")
        return [
            _accuracy(name, engine.query(f"q{number}").answers().to_arrow())
            for number, name in enumerate(_SKETCHES)
        ]


def _accuracy(name: str, table: pa.Table) -> Accuracy:
    found, low, high, exact = (_numbers(table, column) for column in ("a", "a_low", "a_high", "e"))
    errors = np.abs(found - exact) / np.maximum(np.abs(exact), 1)
    within = None if name in _BETWEEN_VALUES else float(np.mean((low <= exact) & (exact <= high)))
    return Accuracy(name, len(table), float(errors.mean()), float(errors.max()), within)


def _numbers(table: pa.Table, column: str) -> FloatArray:
    return np.asarray(table.column(column).cast(pa.float64()).to_numpy())
