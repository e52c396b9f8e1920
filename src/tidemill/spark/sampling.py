"""A sample of a stream: which keys and predicates its rows have, and how fast they come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tidemill.plan.predicates import has_bit
from tidemill.share import Sample
from tidemill.spark.admission import TIME, Admission
from tidemill.spark.partials import signed_rows, word_columns
from tidemill.spark.values import read_value
from tidemill.synopsis.feed import Scan

SAMPLED_ROWS = 8192
_US_PER_SECOND = 1_000_000


def take_sample(session: SparkSession, rows: DataFrame, scan: Scan, admission: Admission) -> Sample:
    """Of the first rows; what a scan works out for them, keys as hashes.

    Rows that cannot be read are the tick's to report: here they only mean that one guesses.
    """
    try:
        return _sample(scan, _looked_at(session, rows, scan, admission))
    except PySparkException:
        return Sample()


def _looked_at(
    session: SparkSession, rows: DataFrame, scan: Scan, admission: Admission
) -> pa.Table:
    signed = signed_rows(rows.limit(SAMPLED_ROWS), scan, admission, "sample")
    keys = [f"XXHASH64({read_value(scan.scalars, k)}) AS _h{n}" for n, k in enumerate(scan.keys)]
    items = ", ".join([TIME, *keys, *word_columns(scan)])
    return session.sql(f"SELECT {items} FROM ({signed}) WHERE {TIME} IS NOT NULL").toArrow()


def _sample(scan: Scan, rows: pa.Table) -> Sample:
    if len(rows) < 2:
        return Sample()
    words = [rows.column(name).to_numpy() for name in word_columns(scan)]
    signatures = np.stack(words, axis=1) if words else np.zeros((len(rows), 0), np.int64)
    times = rows.column(TIME).to_numpy()
    seconds = max(1, int(times.max() - times.min())) / _US_PER_SECOND
    return Sample(
        rows_per_second=len(rows) / seconds,
        size=len(rows),
        keys={k.sql: _codes(rows.column(f"_h{n}")) for n, k in enumerate(scan.keys)},
        bits={p: has_bit(signatures, bit) for bit, p in enumerate(scan.predicates)},
    )


def _codes(hashes: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.unique(hashes.to_numpy(), return_inverse=True)[1].astype(np.int64)
