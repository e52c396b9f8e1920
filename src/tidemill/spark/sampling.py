"""A sample of a stream: the keys and predicates of its first rows, and how fast rows come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tidemill.arrays import IntArray
from tidemill.catalog import Stream
from tidemill.connect.sources.contract import AnySource, Input
from tidemill.connect.sources.parts import array_parts
from tidemill.plan.predicates import has_bit
from tidemill.scan.arrays.files import UNREADABLE, read_batches
from tidemill.scan.arrays.program import sampling_program
from tidemill.scan.arrays.sampling import SAMPLED_ROWS, input_rate, sample_rows
from tidemill.scan.contract import Admission, Terms
from tidemill.scan.routes import samples_on_arrays
from tidemill.share import Sample
from tidemill.spark.catalyst.admission import TIME
from tidemill.spark.catalyst.partials import signed_rows, word_columns
from tidemill.spark.catalyst.values import read_value
from tidemill.spark.on_demand import AskSession
from tidemill.spark.rows import read_rows
from tidemill.state.feed import Scan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Files of so many bytes have as many rows, unless rows are long.
SAMPLED_BYTES = 8 << 20


def take_sample(
    session: AskSession, stream: Stream, source: AnySource, portion: Input, scan: Scan
) -> Sample:
    """The sample of an input's first rows: on arrays, or by Spark where those cannot take it.

    Rows that cannot be read are the tick's to report: here they only mean that one guesses.
    """
    sample = sample_on_arrays(stream, source, portion, scan)
    if sample is None:
        spark = session(f"a sample of stream {stream.name}")
        sample = sample_by_spark(spark, stream, source, portion, scan)
    return sample


def sample_on_arrays(
    stream: Stream, source: AnySource, portion: Input, scan: Scan
) -> Sample | None:
    """None if the scan or some file is not plain."""
    if not samples_on_arrays(stream, scan):
        return None
    program = sampling_program(stream, scan)
    parts = array_parts(program, source, portion)
    if parts is None:
        return None
    try:
        tables = (batch.rows for batch in read_batches(program, parts))
        return sample_rows(program, scan, tables, len(portion.names))
    except UNREADABLE:
        return None


def sample_by_spark(
    session: SparkSession, stream: Stream, source: AnySource, portion: Input, scan: Scan
) -> Sample:
    from pyspark.errors import PySparkException

    rows = read_rows(session, stream, source, portion, scan.columns)
    admission = Admission(stream, Terms(), 0, source.is_text)
    try:
        return _sample(scan, _looked_at(session, rows, scan, admission), len(portion.names))
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
        rows_per_second=input_rate(rows.column(TIME).to_numpy(), files),
        size=len(rows),
        keys={k.sql: _codes(rows.column(f"_h{n}")) for n, k in enumerate(scan.keys)},
        bits={p: has_bit(signatures, bit) for bit, p in enumerate(scan.predicates)},
    )


def _codes(hashes: pa.ChunkedArray) -> IntArray:
    return np.unique(hashes.to_numpy(), return_inverse=True)[1].astype(np.int64)
