"""Chunks of rows ⇒ the accounts of a tick, and the cells of every feed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tidemill.arrays import BoolArray
from tidemill.scan.arrays.cells import cells_of
from tidemill.scan.arrays.chunk import Chunk
from tidemill.scan.arrays.files import Part, RowBatch
from tidemill.scan.arrays.program import ArrayPass, Program
from tidemill.scan.arrays.signatures import sign
from tidemill.scan.arrays.times import Admitted, admit, slices
from tidemill.scan.contract import COUNTED, FILTERED
from tidemill.state.cells import Cells, joined, merged
from tidemill.state.feed import Feed, classes_from


@dataclass
class Scanned:
    """The outcome of a scan so far: accounts, and cells in parts, by pass and feed."""

    rows: dict[int, int] = field(default_factory=dict)  # by verdict
    newest_us: int | None = None
    parts: dict[tuple[int, int], list[Cells]] = field(default_factory=dict)
    refused_in: dict[Part, None] = field(default_factory=dict)  # parts with late or malformed rows

    def count(self, verdict: int, rows: int) -> None:
        if rows:
            self.rows[verdict] = self.rows.get(verdict, 0) + rows

    def saw(self, newest_us: int | None) -> None:
        times = [t for t in (self.newest_us, newest_us) if t is not None]
        self.newest_us = max(times, default=None)

    def add(self, other: Scanned) -> None:
        """Take in the outcome of a scan of other rows."""
        for verdict, rows in other.rows.items():
            self.count(verdict, rows)
        self.saw(other.newest_us)
        for place, parts in other.parts.items():
            self.parts.setdefault(place, []).extend(parts)
        self.refused_in.update(other.refused_in)

    def cells(self, program: Program) -> list[tuple[Feed, Cells]]:
        """The cells of each feed that got any, put together."""
        return [
            (feed, merged(feed.lanes, joined(parts)))
            for number, one_pass in enumerate(program.passes)
            for place, feed in enumerate(one_pass.feeds)
            if (parts := self.parts.get((number, place)))
        ]


def scan(program: Program, batches: Iterable[RowBatch], since_us: int) -> Scanned:
    """Everything that the program asks of the rows; older ones than `since_us` are late."""
    scanned = Scanned()
    for batch in batches:
        admitted = admit(Chunk(batch.rows, program.kinds), program.time_column, since_us)
        for verdict, rows in admitted.refused.items():
            scanned.count(verdict, rows)
            scanned.refused_in.update(dict.fromkeys(batch.parts))
        if len(admitted.chunk):
            _scan_chunk(program, admitted, since_us, scanned)
    return scanned


def _scan_chunk(program: Program, admitted: Admitted, since_us: int, scanned: Scanned) -> None:
    scanned.saw(int(admitted.times_us.max()))
    for number, one_pass in enumerate(program.passes):
        filtered = _scan_pass(one_pass, admitted, since_us, number, scanned)
        # Every pass meets every row, so one of them has the accounts.
        if number == 0:
            scanned.count(FILTERED, filtered)
            scanned.count(COUNTED, len(admitted.chunk) - filtered)


def _scan_pass(
    one_pass: ArrayPass, admitted: Admitted, since_us: int, number: int, scanned: Scanned
) -> int:
    """Scan a chunk for one pass; returns the number of rows that no feed keeps."""
    signed = sign(one_pass.signing, admitted.chunk)
    for place, feed in enumerate(one_pass.feeds):
        sliced = slices(admitted.times_us, classes_from(feed.synopses, since_us))
        cells = cells_of(feed, admitted, signed, *sliced)
        if cells is not None:
            scanned.parts.setdefault((number, place), []).append(cells)
    if one_pass.keeps_all:
        return 0
    unsigned: BoolArray = np.logical_not(np.any(signed.words, axis=1))
    return int(np.count_nonzero(unsigned[signed.ids]))
