"""The memory for the values that one query counts, as if it were alone with its synopsis.

Cells are cut finer for other queries, hold rows that other predicates take, and have lanes of
others. So the pieces are read as that query would have had them written: its lane, its rows,
cut at the edges of its windows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidemill.aggregates import Lane
from tidemill.aggregates.bags import Bags
from tidemill.aggregates.numbering import Digit, number_rows
from tidemill.arrays import Array, IntArray
from tidemill.plan.predicates import Reading
from tidemill.state.cells import Cells
from tidemill.state.pieces import Piece, decode_rows
from tidemill.state.synopsis import Synopsis
from tidemill.windows import Cuts, WindowSpec

# Pieces never change: what has been measured of the newest ones is still true in the next tick.
_REMEMBERED = 4096


@dataclass(frozen=True)
class CountedValues:
    """The values that one query counts in one lane: of which rows, cut at which edges."""

    lane: Lane
    reading: Reading
    specs: tuple[WindowSpec, ...]

    def bytes_in(
        self, folder: Path, synopsis: Synopsis, pieces: Iterable[Piece], from_us: int
    ) -> int:
        """Their bytes in the slices of these pieces from some time on."""
        lanes = tuple(kept for kept in synopsis.kept_lanes if kept.lane == self.lane)
        narrowed = replace(synopsis, kept_lanes=lanes)
        by_piece = (_sizes(self, narrowed, folder / piece.name) for piece in pieces)
        return int(sum(sizes.bytes[sizes.starts >= from_us].sum() for sizes in by_piece))

    def sizes(self, cells: Cells) -> ValueSizes:
        """By slice of the query what it takes of cells that have this lane alone."""
        cuts = Cuts().recut(self.specs, None)
        is_read = self.reading.matches(cells.signatures)[cells.signature]
        is_read &= cuts.in_some_window(cells.slices)[cells.slice_index]
        cells = cells.where(is_read)
        starts, place = np.unique(cuts.starts(cells.slices), return_inverse=True)
        digits = [
            Digit(place[cells.slice_index], max(1, len(starts))),
            Digit(cells.group, max(1, cells.group_count)),
        ]
        numbered = number_rows(digits, len(cells))
        bags = self.lane.combined(cells.lanes[0], numbered.ids, numbered.count)
        assert isinstance(bags, Bags)
        slices = place[cells.slice_index[numbered.rows]]
        return ValueSizes(starts, _bytes_by_slice(self.lane, bags, slices, len(starts)))


@dataclass(frozen=True)
class ValueSizes:
    """The slices of a query in one piece: when each starts, and what its values take."""

    starts: IntArray
    bytes: Array


@lru_cache(maxsize=_REMEMBERED)
def _sizes(values: CountedValues, synopsis: Synopsis, path: Path) -> ValueSizes:
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    return values.sizes(decode_rows(synopsis, table))


def _bytes_by_slice(lane: Lane, bags: Bags, slices: IntArray, count: int) -> Array:
    """Each entry takes as much as another, with its share of the values that all stand for."""
    entries = np.bincount(slices, bags.sizes, minlength=count)
    size_bytes = sum(column.nbytes for column in lane.decode(bags.with_used_values()))
    by_slice: Array = entries * (size_bytes / max(1, len(bags.codes)))
    return by_slice
