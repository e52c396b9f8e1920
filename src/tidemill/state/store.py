"""The versioned store: which pieces make up each synopsis after a tick.

A version is a frozen value; a tick makes the next one and the engine commits it with the
tick's record. Files that no committed version names are swept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tidemill.arrays import IntArray
from tidemill.state.pieces import Piece


@dataclass(frozen=True)
class Version:
    """Pieces by synopsis id, oldest first; and from when on each synopsis has all its slices.

    Rows that wait have pieces too, by the id of their row feed.
    """

    pieces: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict)
    complete_from: Mapping[str, int] = field(default_factory=dict)

    def of(self, synopsis_id: str) -> tuple[Piece, ...]:
        return self.pieces.get(synopsis_id, ())

    def slices(self, synopsis_id: str) -> IntArray:
        """Starts of the non-empty slices, ascending, each once."""
        runs = [np.array(piece.slices, dtype=np.int64) for piece in self.of(synopsis_id)]
        return np.unique(np.concatenate(runs)) if runs else np.zeros(0, dtype=np.int64)

    def added(self, synopsis_id: str, pieces: Iterable[Piece]) -> Version:
        return self._with(synopsis_id, (*self.of(synopsis_id), *pieces))

    def replaced(self, synopsis_id: str, pieces: Iterable[Piece]) -> Version:
        """A snapshot takes the place of everything the synopsis had."""
        return self._with(synopsis_id, tuple(pieces))

    def expired(self, synopsis_id: str, horizon_us: int) -> Version:
        """Without the pieces whose slices all lie before the horizon."""
        live = tuple(p for p in self.of(synopsis_id) if p.last_us >= horizon_us)
        since_us = max(horizon_us, self.complete_from.get(synopsis_id, horizon_us))
        complete_from = {**self.complete_from, synopsis_id: since_us}
        return replace(self._with(synopsis_id, live), complete_from=complete_from)

    def only(self, synopsis_ids: Iterable[str]) -> Version:
        ids = set(synopsis_ids)
        return Version(
            {key: value for key, value in self.pieces.items() if key in ids},
            {key: value for key, value in self.complete_from.items() if key in ids},
        )

    def without(self, other: Version) -> Iterator[tuple[str, Piece]]:
        """The pieces that another version does not name, each with its synopsis."""
        names = {piece.name for pieces in other.pieces.values() for piece in pieces}
        for key, pieces in self.pieces.items():
            yield from ((key, piece) for piece in pieces if piece.name not in names)

    @property
    def rows(self) -> int:
        return sum(piece.rows for pieces in self.pieces.values() for piece in pieces)

    @property
    def size(self) -> int:
        return sum(piece.size for pieces in self.pieces.values() for piece in pieces)

    def size_since(self, since_us: int) -> int:
        """The bytes of the pieces that have slices, or rows that wait, from then on."""
        return sum(
            piece.size
            for pieces in self.pieces.values()
            for piece in pieces
            if piece.last_us >= since_us
        )

    def value_bytes(self, synopsis_id: str) -> int:
        """The bytes of the values that are counted for a synopsis."""
        return sum(piece.value_bytes for piece in self.of(synopsis_id))

    def _with(self, synopsis_id: str, pieces: tuple[Piece, ...]) -> Version:
        return replace(self, pieces={**self.pieces, synopsis_id: pieces})


def needs_snapshot(pieces: tuple[Piece, ...], horizon_us: int, most: int) -> bool:
    """Too many files to open, or more than half of the rows are past use.

    Rows past use are estimated by slices; at least four pieces keep tiny states still.
    """
    if len(pieces) > most:
        return True
    slices = sum(len(piece.slices) for piece in pieces)
    dead = sum(int(np.searchsorted(piece.slices, horizon_us)) for piece in pieces)
    return len(pieces) >= 4 and dead * 2 > slices


def sweep(root: Path, version: Version, synopsis_ids: set[str], pending: set[str]) -> int:
    """Remove piece files of these synopses that nobody names; returns how many.

    Strays come from tasks that were run twice and from ticks that were cut off.
    """
    named = {piece.name for pieces in version.pieces.values() for piece in pieces} | pending
    folders = [root / synopsis_id for synopsis_id in synopsis_ids]
    strays = [p for folder in folders for p in folder.glob("*.*") if p.name not in named]
    for path in strays:
        path.unlink(missing_ok=True)
    return len(strays)
