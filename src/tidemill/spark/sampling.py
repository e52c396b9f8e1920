"""A sample of a stream: which keys and predicates its rows have, and how fast they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tidemill.arrays import IntArray
from tidemill.plan.predicates import has_bit
from tidemill.share import Sample
from tidemill.spark.catalyst.admission import TIME, Admission
from tidemill.spark.catalyst.partials import signed_rows, word_columns
from tidemill.spark.catalyst.values import read_value
from tidemill.state.feed import Scan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLED_ROWS = 8192
# Files of so many bytes have as many rows, unless rows are long.
SAMPLED_BYTES = 8 << 20
_US_PER_SECOND = 1_000_000


def take_sample(
    session: SparkSession, rows: DataFrame, scan: Scan, admission: Admission, files: int
) -> Sample:
    """Of the first rows, from up to so many files; what a scan works out, keys as hashes.

    Rows that cannot be read are the tick's to report: here they only mean that one guesses.
    """
    from pyspark.errors import PySparkException

    try:
        return _sample(scan, _looked_at(session, rows, scan, admission), files)
    except PySparkException:
        return Sample()


def _looked_at(
    session: SparkSession, rows: DataFrame, scan: Scan, admission: Admission
) -> pa.Table:
    signed = signed_rows(rows.limit(SAMPLED_ROWS), scan, admission, "sample")
    keys = [f"XXHASH64({read_value(scan.scalars, k)}) AS _h{n}" for n, k in enumerate(scan.keys)]
    items = ", ".join([TIME, *keys, *word_columns(scan)])
    return session.sql(f"SELECT {items} FROM ({signed}) WHERE {TIME} IS NOT NULL").toArrow()


def _sample(scan: Scan, rows: pa.Table, files: int) -> Sample:
    if len(rows) < 2:
        return Sample()
    words = [rows.column(name).to_numpy() for name in word_columns(scan)]
    signatures = np.stack(words, axis=1) if words else np.zeros((len(rows), 0), np.int64)
    return Sample(
        rows_per_second=rate(rows.column(TIME).to_numpy(), files),
        size=len(rows),
        keys={k.sql: _codes(rows.column(f"_h{n}")) for n, k in enumerate(scan.keys)},
        bits={p: has_bit(signatures, bit) for bit, p in enumerate(scan.predicates)},
    )


def rate(times_us: IntArray, files: int) -> float:
    """Rows a second.

    Files that were not looked at may lie between those that were, so that many of the longest
    gaps between rows tell nothing; they are taken to be like the others.

    >>> rate(np.array([0, 500_000, 1_000_000, 61_000_000, 61_500_000]), files=2)
    2.5
    >>> rate(np.repeat([0, 1_000_000, 2_000_000, 60_000_000], 100), files=2)  # in whole seconds
    133.33333333333334
    """
    gaps = np.sort(np.diff(np.unique(times_us)))
    kept = gaps[: max(1, len(gaps) - max(0, files - 1))]
    span_us = int(kept.sum()) * len(gaps) / max(1, len(kept))
    return len(times_us) / max(1.0, span_us) * _US_PER_SECOND


def _codes(hashes: pa.ChunkedArray) -> IntArray:
    return np.unique(hashes.to_numpy(), return_inverse=True)[1].astype(np.int64)
