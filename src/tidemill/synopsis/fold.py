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
    given = rows.column(SLICE).to_numpy()
    starts = slice_starts(given, synopsis.classes)
    useful = _in_some_window(synopsis, starts)
    if np.array_equal(starts, given):
        # Every pane is a slice, so the aggregation has left one row per cell already.
        return _sorted(_pick(_partial_columns(synopsis, rows), useful), buckets[useful])
    rows = rows.set_column(rows.column_names.index(SLICE), SLICE, pa.array(starts))
    return {
        int(bucket): scatter(synopsis, gather(synopsis, _pick(rows, useful & (buckets == bucket))))
        for bucket in np.unique(buckets)
    }


def _partial_columns(synopsis: Synopsis, rows: pa.Table) -> pa.Table:
    lanes = [n for number in range(len(synopsis.lanes)) for n in synopsis.lane_columns(number)]
    return rows.select([SLICE, *synopsis.key_columns, *lanes])


def _sorted(rows: pa.Table, buckets: NDArray[np.int64]) -> dict[int, pa.Table]:
    order = np.lexsort((rows.column(SLICE).to_numpy(), buckets))
    ordered, runs = rows.take(pa.array(order)), buckets[order]
    distinct = np.unique(runs)
    bounds = np.searchsorted(runs, [*distinct, np.iinfo(np.int64).max])
    return {
        int(bucket): ordered.slice(int(low), int(high - low))
        for bucket, low, high in zip(distinct, bounds[:-1], bounds[1:], strict=True)
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
