"""Pieces of rows that wait under a key, as long as rows of other streams may meet them.

A piece goes as a whole once its last row is past use. Of many pieces the newest are put together,
as many as are small beside those after them; so each row is written anew a few times only,
however many pieces there are. A piece most of whose rows are past use is written anew without
them.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidemill.arrays import IntArray
from tidemill.state.keyed_rows import KeyedRows
from tidemill.state.pieces import Piece
from tidemill.types import Type

# A piece is put together with those after it if it is no larger than so many times these.
_SMALL_BESIDE = 2


def write_keyed_piece(
    folder: Path, key: tuple[Type, ...], rows: pa.Table, times_us: IntArray
) -> Piece | None:
    """A piece with the rows, which are given in the order they came; None if none has a key."""
    columns = [column.cast(kind.arrow) for column, kind in zip(rows.columns, key, strict=False)]
    columns += rows.columns[len(key) :]
    rows = pa.table(columns, names=rows.column_names)
    return _write(folder, KeyedRows.of(rows, times_us, len(key)))


def _write(folder: Path, keyed: KeyedRows) -> Piece | None:
    if not len(keyed):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{uuid.uuid4().hex}.arrow"
    keyed.write(path)
    ends = dict.fromkeys((keyed.first_us, keyed.last_us))
    size = path.stat().st_size
    return Piece(path.name, len(keyed), size, tuple(ends), ((0, 0, len(keyed)),))


@dataclass(frozen=True)
class KeyedPieces:
    """The pieces of one feed, in the order in which their rows came."""

    folder: Path
    keys: int
    pieces: tuple[Piece, ...]

    @cached_property
    def rows(self) -> tuple[KeyedRows, ...]:
        return tuple(KeyedRows.read(self.folder / p.name, self.keys) for p in self.pieces)

    def rest(self, live_us: int, waiting_us: int, most: int) -> tuple[Piece, ...]:
        """What is held on: rows are of use from one time on, and have not been passed from another
        one on. Of those that have not, the entry of a piece tells the first."""
        live = [n for n, piece in enumerate(self.pieces) if piece.last_us >= live_us]
        first = _first_of_small([self.pieces[n].rows for n in live]) if len(live) > most else None
        single, together = live[:first], live[first:] if first is not None else []
        pieces = [self._without_dead(n, live_us) for n in single]
        pieces += [self._as_one(together, live_us)] if together else []
        return tuple(self._waiting(p, waiting_us) for p in pieces if p is not None)

    def _without_dead(self, number: int, live_us: int) -> Piece | None:
        rows = self.rows[number]
        is_mostly_dead = 2 * rows.count_before(live_us) > len(rows)
        return self._as_one([number], live_us) if is_mostly_dead else self.pieces[number]

    def _as_one(self, numbers: Sequence[int], live_us: int) -> Piece | None:
        """One new piece with what is of use in some of them."""
        several = [self.rows[number].since(live_us) for number in numbers]
        rows = pa.concat_tables([table for table, _ in several])
        times_us = np.concatenate([times_us for _, times_us in several])
        return _write(self.folder, KeyedRows.of(rows, times_us, self.keys))

    def _waiting(self, piece: Piece, waiting_us: int) -> Piece:
        if piece.last_us < waiting_us or piece.slices[0] >= waiting_us:
            return replace(piece, slices=tuple(dict.fromkeys((piece.slices[0], piece.last_us))))
        next_us = KeyedRows.read(self.folder / piece.name, self.keys).next_us(waiting_us)
        ends = (piece.slices[0], piece.last_us if next_us is None else next_us, piece.last_us)
        return replace(piece, slices=tuple(dict.fromkeys(ends)))


def _first_of_small(sizes: Sequence[int]) -> int:
    """From which of the pieces on all are put together; two at least."""
    first = len(sizes) - 2
    while first > 0 and sizes[first - 1] <= _SMALL_BESIDE * sum(sizes[first:]):
        first -= 1
    return first
