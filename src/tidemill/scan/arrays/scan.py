"""Chunks of rows ⇒ a verdict and a slice for each row, the accounts of a tick, cells of feeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates.columns import GroupedRows
from tidemill.aggregates.numbering import Digit, number_rows
from tidemill.arrays import BoolArray, IntArray
from tidemill.scan.arrays.chunk import Chunk, ChunkColumn
from tidemill.scan.arrays.files import Part, RowBatch
from tidemill.scan.arrays.joined import joined_chunks
from tidemill.scan.arrays.program import ArrayPass, Program
from tidemill.scan.arrays.row_scan import RowPass, pick_rows
from tidemill.scan.arrays.signatures import Signed, sign
from tidemill.scan.contract import (
    COUNTED,
    EARLIEST_US,
    FILTERED,
    LATE,
    LATEST_US,
    MALFORMED,
    PickedRows,
    own_bits,
)
from tidemill.state.cells import Cells, factorise_words, joined, merged
from tidemill.state.feed import Feed, classes_from
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


@dataclass
class Scanned:
    """The outcome of a scan so far: accounts, and cells in parts, by pass and feed."""

    rows: dict[int, int] = field(default_factory=dict)  # by verdict
    oldest_us: int | None = None
    newest_us: int | None = None
    parts: dict[tuple[int, int], list[Cells]] = field(default_factory=dict)
    raised: dict[tuple[int, str], int] = field(default_factory=dict)  # by pass and expression
    refused_in: dict[Part, None] = field(default_factory=dict)  # parts with late or malformed rows
    picked: list[PickedRows] = field(default_factory=list)  # in the order in which rows came

    def count(self, verdict: int, rows: int) -> None:
        if rows:
            self.rows[verdict] = self.rows.get(verdict, 0) + rows

    def count_raised(self, number: int, sql: str, rows: int) -> None:
        if rows:
            self.raised[number, sql] = self.raised.get((number, sql), 0) + rows

    def raised_by_expression(self) -> dict[str, int]:
        """Passes that have an expression in common have met the same rows."""
        return {sql: rows for (_, sql), rows in self.raised.items()}

    def saw(self, *times_us: int | None) -> None:
        times = [t for t in (self.oldest_us, self.newest_us, *times_us) if t is not None]
        self.oldest_us, self.newest_us = min(times, default=None), max(times, default=None)

    def add(self, other: Scanned) -> None:
        """Take in the outcome of a scan of other rows."""
        for verdict, rows in other.rows.items():
            self.count(verdict, rows)
        self.saw(other.oldest_us, other.newest_us)
        for (number, sql), rows in other.raised.items():
            self.count_raised(number, sql, rows)
        for place, parts in other.parts.items():
            self.parts.setdefault(place, []).extend(parts)
        self.refused_in.update(other.refused_in)
        self.picked += other.picked

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
    scanned.saw(int(admitted.times_us.min()), int(admitted.times_us.max()))
    for row_pass in program.row_passes:
        for _, timed in _joined_rows(program, row_pass, admitted):
            scanned.picked += pick_rows(row_pass, timed.chunk, timed.times_us)
    if not program.passes:
        scanned.count(COUNTED, len(admitted.chunk))
    for number, one_pass in enumerate(program.passes):
        kept_rows = _scan_pass(program, one_pass, admitted, since_us, number, scanned)
        # Every pass meets every row, so one of them has the accounts.
        if number == 0:
            scanned.count(FILTERED, len(admitted.chunk) - kept_rows)
            scanned.count(COUNTED, kept_rows)


def _scan_pass(
    program: Program,
    one_pass: ArrayPass,
    admitted: Admitted,
    since_us: int,
    number: int,
    scanned: Scanned,
) -> int:
    """Scan a chunk for one pass; returns the number of its rows that some feed keeps."""
    is_kept = np.full(len(admitted.chunk), one_pass.keeps_all)
    for rows, timed in _joined_rows(program, one_pass, admitted):
        signed = sign(one_pass.signing, timed.chunk)
        for scalar in one_pass.raising:
            scanned.count_raised(number, scalar.sql, timed.chunk.computed(scalar).raised)
        for place, feed in enumerate(one_pass.feeds):
            sliced = slices(timed.times_us, classes_from(feed.synopses, since_us))
            cells = cells_of(feed, timed, signed, *sliced)
            if cells is not None:
                scanned.parts.setdefault((number, place), []).append(cells)
        if not one_pass.keeps_all:
            is_signed = np.any(signed.words, axis=1)[signed.ids]
            is_kept[is_signed if rows is None else rows[is_signed]] = True
    return int(np.count_nonzero(is_kept))


def _joined_rows(
    program: Program, one_pass: ArrayPass | RowPass, admitted: Admitted
) -> Iterator[tuple[IntArray | None, Admitted]]:
    """The rows with the tables of a pass beside them, and which of the chunk these are."""
    if not one_pass.joins:
        yield None, admitted
        return
    for chunk in joined_chunks(admitted.chunk, one_pass.joins, program.tables):
        times_us = admitted.times_us
        yield chunk.rows, Admitted(chunk, times_us if chunk.rows is None else times_us[chunk.rows])


def cells_of(
    feed: Feed, timed: Admitted, signed: Signed, sliced: Digit, starts: IntArray
) -> Cells | None:
    """One cell for each slice, group and signature among the rows; None if the feed keeps none."""
    chunk = timed.chunk
    signature, signatures, is_kept = _own_signatures(feed, signed)
    rows = None if is_kept.all() else np.flatnonzero(is_kept[signed.ids])
    count = len(chunk) if rows is None else len(rows)
    if not count:
        return None
    keys = [chunk.column_of(feed.scan.keys[n]) for n in feed.nodes[0].keys]
    signs = Digit(signature[signed.ids], len(signatures))
    digits = [*(key.coded.digit for key in keys), signs, sliced]
    digits = digits if rows is None else [Digit(d.codes[rows], d.size) for d in digits]
    numbers = number_rows(digits, count)
    # A row of each cell.
    cell_rows = numbers.rows if rows is None else rows[numbers.rows]
    group, groups = _groups(feed, keys, cell_rows)
    grouped = GroupedRows(chunk, timed.times_us, rows, numbers.ids, numbers.count)
    return Cells(
        slices=starts,
        slice_index=sliced.codes[cell_rows].astype(np.int64),
        group=group,
        groups=groups,
        signature=signs.codes[cell_rows],
        signatures=signatures,
        lanes=tuple(lane.lift_rows(grouped) for lane in feed.lanes),
    )


def _own_signatures(feed: Feed, signed: Signed) -> tuple[IntArray, IntArray, BoolArray]:
    """For each signature of the scan, the number of the feed's own and whether the feed keeps it.

    In the middle stand the feed's own signatures.
    """
    masks = np.array(own_bits(feed), dtype=np.int64)
    words: IntArray = signed.words[:, : len(masks)] & masks
    is_kept = np.full(len(words), feed.keeps_all) | np.any(words, axis=1)
    numbers, firsts = factorise_words(words)
    return numbers, words[firsts], is_kept


def _groups(feed: Feed, keys: list[ChunkColumn], cell_rows: IntArray) -> tuple[IntArray, pa.Table]:
    """The group of each cell, of which one row is given, and the keys of each group."""
    digits = [Digit(key.coded.digit.codes[cell_rows], key.coded.digit.size) for key in keys]
    numbers = number_rows(digits, len(cell_rows))
    columns = {
        name: key.take(cell_rows[numbers.rows])
        for name, key in zip(feed.key_columns, keys, strict=True)
    }
    return numbers.ids, pa.table(columns)
