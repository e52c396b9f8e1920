"""Event times on arrays: which rows count, and the slice of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates.numbering import Digit
from tidemill.arrays import BoolArray, IntArray
from tidemill.scan.arrays.chunk import Chunk, ChunkColumn
from tidemill.scan.contract import EARLIEST_US, LATE, LATEST_US, MALFORMED
from tidemill.windows import EdgeClass, pane_origin, pane_us
from tidemill.windows.edges import slice_starts

_FEW = 1 << 16


@dataclass(frozen=True)
class Admitted:
    """The rows that may count, with their times, and how many do not."""

    chunk: Chunk
    times_us: IntArray
    refused: Mapping[int, int] = field(default_factory=dict)  # by verdict


def judge(column: ChunkColumn, since_us: int) -> tuple[BoolArray, BoolArray]:
    """Of each row, whether it has a usable time, and whether that is not before the watermark."""
    times = column.numbers
    usable = (times >= EARLIEST_US) & (times <= LATEST_US)
    if column.valid is not None:
        usable &= column.valid
    return usable, times >= since_us


def admit(chunk: Chunk, time_column: str, since_us: int) -> Admitted:
    """Leave out rows without a usable time and rows from before the watermark."""
    column = chunk.column(time_column)
    usable, timely = judge(column, since_us)
    accepted = usable & timely
    if accepted.all():
        return Admitted(chunk, column.numbers)
    counts = {MALFORMED: int((~usable).sum()), LATE: int((usable & ~timely).sum())}
    refused = {verdict: count for verdict, count in counts.items() if count}
    return Admitted(chunk.where(accepted), column.numbers[accepted], refused)


def slices(times_us: IntArray, classes: tuple[EdgeClass, ...]) -> tuple[Digit, IntArray]:
    """The slice of each time as a code, and the start of each code's slice, ascending."""
    if not classes:
        # Nobody reads them; they are one slice.
        return Digit(np.zeros(len(times_us), np.int32), 1), np.zeros(1, np.int64)
    pane, origin = pane_us(classes), pane_origin(classes)
    low, high = int(times_us.min()), int(times_us.max())
    first = low - (low - origin) % pane
    panes = (high - first) // pane + 1
    if panes > _FEW + 2 * len(times_us):
        return _coded(slice_starts(times_us, classes))
    by_pane, starts = _coded(slice_starts(first + pane * np.arange(panes), classes))
    numbers = ((times_us - first) // pane).astype(np.int32)
    return Digit(numbers if len(starts) == panes else by_pane.codes[numbers], len(starts)), starts


def _coded(starts: IntArray) -> tuple[Digit, IntArray]:
    encoded = pc.dictionary_encode(pa.array(starts))
    distinct = np.asarray(encoded.dictionary.to_numpy())
    order = np.argsort(distinct)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order))
    return Digit(place[encoded.indices.to_numpy()], len(order)), distinct[order]
