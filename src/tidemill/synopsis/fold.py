"""Step 3: partial rows of one task ⇒ rows by bucket, ready to be a piece."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.synopsis.cells import SLICE, gather, scatter
from tidemill.synopsis.model import Synopsis
from tidemill.windows import slice_starts


def fold_rows(
    synopsis: Synopsis, rows: pa.Table, buckets: NDArray[np.int64]
) -> dict[int, pa.Table]:
    """Cut panes into slices, drop what no window reads, combine, and sort by slice."""
    starts = slice_starts(rows.column(SLICE).to_numpy(), synopsis.classes)
    rows = rows.set_column(rows.column_names.index(SLICE), SLICE, pa.array(starts))
    useful = _in_some_window(synopsis, starts)
    return {
        int(bucket): scatter(synopsis, gather(synopsis, _pick(rows, useful & (buckets == bucket))))
        for bucket in np.unique(buckets)
    }


def _pick(rows: pa.Table, wanted: NDArray[np.bool_]) -> pa.Table:
    return rows if wanted.all() else rows.filter(pa.array(wanted))


def _in_some_window(synopsis: Synopsis, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Slices in the gaps of hopping windows are read by nobody."""
    useful = np.zeros(len(starts), dtype=np.bool_)
    for spec in synopsis.windows:
        if spec.slide_us <= spec.range_us:
            return np.ones(len(starts), dtype=np.bool_)
        useful |= (starts - spec.start_us) % spec.slide_us < spec.range_us
    return useful
