"""A sample of a stream on arrays: the keys and predicates of its first rows, and their rate."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from tidemill.arrays import IntArray
from tidemill.plan.expressions import Scalar
from tidemill.plan.predicates import has_bit
from tidemill.scan.arrays.chunk import Chunk
from tidemill.scan.arrays.program import Program
from tidemill.scan.arrays.scan import admit
from tidemill.scan.arrays.signatures import sign
from tidemill.scan.contract import EARLIEST_US
from tidemill.share import Sample
from tidemill.state.feed import Scan

SAMPLED_ROWS = 8192
_US_PER_SECOND = 1_000_000


def sample_rows(program: Program, scan: Scan, tables: Iterable[pa.Table], files: int) -> Sample:
    """The sample of the first rows, which come from up to so many files."""
    rows = first_rows(tables)
    if rows is None:
        return Sample()
    admitted = admit(Chunk(rows, program.kinds), program.time_column, EARLIEST_US)
    chunk = admitted.chunk
    if len(chunk) < 2:
        return Sample()
    (one_pass,) = program.passes
    signed = sign(one_pass.signing, chunk)
    words = signed.words[signed.ids]
    return Sample(
        rows_per_second=input_rate(admitted.times_us, files),
        size=len(chunk),
        keys={key.sql: _codes(chunk, key) for key in scan.keys},
        bits={predicate: has_bit(words, bit) for bit, predicate in enumerate(scan.predicates)},
    )


def first_rows(tables: Iterable[pa.Table], most: int = SAMPLED_ROWS) -> pa.Table | None:
    """The first rows of the tables, of which no more are read than are needed; None of none."""
    heads: list[pa.Table] = []
    for table in tables:
        heads.append(table.slice(0, most - sum(map(len, heads))))
        if sum(map(len, heads)) == most:
            break
    return pa.concat_tables(heads) if heads else None


def input_rate(times_us: IntArray, files: int) -> float:
    """Rows a second.

    Files that were not looked at may lie between those that were, so that many of the longest
    gaps between rows tell nothing; they are taken to be like the others.

    >>> input_rate(np.array([0, 500_000, 1_000_000, 61_000_000, 61_500_000]), files=2)
    2.5
    >>> input_rate(np.repeat([0, 1_000_000, 2_000_000, 60_000_000], 100), files=2)  # whole seconds
    133.33333333333334
    """
    gaps = np.sort(np.diff(np.unique(times_us)))
    telling = gaps[: max(1, len(gaps) - max(0, files - 1))]
    span_us = int(telling.sum()) * len(gaps) / max(1, len(telling))
    return len(times_us) / max(1.0, span_us) * _US_PER_SECOND


def _codes(chunk: Chunk, key: Scalar) -> IntArray:
    return chunk.column_of(key).coded.digit.codes.astype(np.int64)
