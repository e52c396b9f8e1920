"""Chunks of rows ⇒ a verdict and a slice for each row, the accounts of a tick, cells of feeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates.columns import GroupedRows
from tidemill.aggregates.numbering import Digit, number_rows
from tidemill.arrays import BoolArray, IntArray
from tidemill.scan.arrays.chunk import Chunk, ChunkColumn
from tidemill.scan.arrays.files import Part, RowBatch, Stretch
from tidemill.scan.arrays.joined import joined_chunks
from tidemill.scan.arrays.judging import Judge
from tidemill.scan.arrays.program import ArrayPass, Program
from tidemill.scan.arrays.signatures import Signed, sign
from tidemill.scan.contract import (
    BREAKING,
    BROKEN,
    CORRECTING,
    COUNTED,
    FILTERED,
    LATE,
    MALFORMED,
    PickedRows,
    Terms,
    TimeSpans,
    join_spans,
    own_bits,
)
from tidemill.scan.row_scan import Picking, RowPass, pick_rows
from tidemill.state.cells import Cells, factorise_words, joined, merged
from tidemill.state.feed import Feed, classes_from
from tidemill.state.raised import RaisedCounts, raised_by_signature
from tidemill.windows import EdgeClass, pane_origin, pane_us
from tidemill.windows.edges import slice_starts

_FEW = 1 << 16


@dataclass(frozen=True)
class Admitted:
    """The rows that may count, with their times, those by arrival too, and how many do not.

    `timely` tells rows that are not from those that correct; None: none of them does.
    """

    chunk: Chunk
    times_us: IntArray
    spans: TimeSpans = field(default_factory=dict)  # of timely rows
    correcting: TimeSpans = field(default_factory=dict)  # of the others
    refused: Mapping[int, int] = field(default_factory=dict)  # by verdict
    timely: BoolArray | None = None

    def of_rows(self, rows: IntArray | None, chunk: Chunk) -> Admitted:
        """Some of the rows, which are in a chunk with tables beside them."""
        if rows is None:
            return Admitted(chunk, self.times_us, timely=self.timely)
        timely = None if self.timely is None else self.timely[rows]
        return Admitted(chunk, self.times_us[rows], timely=timely)


def admit(chunk: Chunk, time_column: str, judge: Judge, stretches: Sequence[Stretch]) -> Admitted:
    """Leave out rows without a usable time and rows that are late."""
    column = chunk.column(time_column)
    judged = judge.judge(column, stretches)
    accepted, times_us = judged.accepted, column.numbers
    spans = judged.spans, judged.spans_correcting
    timely = judged.timely if judged.spans_correcting else None
    if accepted.all():
        return Admitted(chunk, times_us, *spans, timely=timely)
    late = judged.late
    broken = int(judge.terms.broken(times_us, late).sum())
    counts = {
        MALFORMED: int((~judged.usable).sum()),
        LATE: int(late.sum()) - broken,
        BROKEN: broken,
    }
    refused = {verdict: count for verdict, count in counts.items() if count}
    timely = None if timely is None else timely[accepted]
    return Admitted(chunk.where(accepted), times_us[accepted], *spans, refused, timely)


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
    spans: TimeSpans = field(default_factory=dict)  # of timely rows
    correcting: TimeSpans = field(default_factory=dict)  # of accepted rows that are not
    parts: dict[tuple[int, int], list[Cells]] = field(default_factory=dict)
    scanned_in: dict[Part, None] = field(default_factory=dict)
    raised: dict[tuple[int, str], int] = field(default_factory=dict)  # by pass and expression
    raised_by_signature: dict[str, int] = field(default_factory=dict)
    raised_in_rows: dict[str, int] = field(default_factory=dict)  # by row feed
    refused_in: dict[Part, None] = field(default_factory=dict)  # parts with late or malformed rows
    picked: list[PickedRows] = field(default_factory=list)  # in the order in which rows came

    def count(self, verdict: int, rows: int) -> None:
        if rows:
            self.rows[verdict] = self.rows.get(verdict, 0) + rows

    def count_raised(self, number: int, sql: str, rows: int) -> None:
        if rows:
            self.raised[number, sql] = self.raised.get((number, sql), 0) + rows

    def count_by_signature(self, raised: RaisedCounts) -> None:
        for key, rows in raised.items():
            self.raised_by_signature[key] = self.raised_by_signature.get(key, 0) + rows

    def count_raised_in_rows(self, by_feed: Mapping[str, int]) -> None:
        for feed, rows in by_feed.items():
            if rows:
                self.raised_in_rows[feed] = self.raised_in_rows.get(feed, 0) + rows

    def pick(self, picking: Picking) -> None:
        """Take in what a row feed takes of a chunk."""
        self.picked += [picking.picked] if picking.picked else []
        self.count_raised_in_rows({picking.feed.id: picking.raised})

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
        self.spans = join_spans(self.spans, other.spans)
        self.correcting = join_spans(self.correcting, other.correcting)
        for (number, sql), rows in other.raised.items():
            self.count_raised(number, sql, rows)
        self.count_by_signature(other.raised_by_signature)
        self.count_raised_in_rows(other.raised_in_rows)
        for place, parts in other.parts.items():
            self.parts.setdefault(place, []).extend(parts)
        self.scanned_in.update(other.scanned_in)
        self.refused_in.update(other.refused_in)
        self.picked += other.picked

    def cells(self, program: Program) -> list[tuple[Feed, Cells]]:
        """The cells of each feed that got any, put together."""
        return [(parts.feed, parts.cells()) for parts in self.of_feeds(program)]

    def of_feeds(self, program: Program) -> list[FeedParts]:
        """The parts of each feed that got any cells."""
        return [
            FeedParts(feed, parts)
            for number, one_pass in enumerate(program.passes)
            for place, feed in enumerate(one_pass.feeds)
            if (parts := self.parts.get((number, place)))
        ]


@dataclass(frozen=True)
class FeedParts:
    """The cells of a feed, in parts that may have the same ones."""

    feed: Feed
    parts: list[Cells]

    def cells(self) -> Cells:
        """All of them, put together."""
        return merged(self.feed.lanes, joined(self.parts))


def scan(program: Program, batches: Iterable[RowBatch], terms: Terms) -> Iterator[Scanned]:
    """Everything that the program asks of the rows, batch by batch, in the order of arrival."""
    judge = Judge(terms)
    for batch in batches:
        chunk = Chunk(batch.rows, program.kinds)
        admitted = admit(chunk, program.time_column, judge, batch.stretches)
        scanned = Scanned(
            spans=admitted.spans,
            correcting=admitted.correcting,
            scanned_in=dict.fromkeys(batch.parts),
        )
        for verdict, rows in admitted.refused.items():
            scanned.count(verdict, rows)
            scanned.refused_in.update(scanned.scanned_in)
        if len(admitted.chunk):
            _scan_chunk(program, admitted, terms, scanned)
        yield scanned


def in_total(outcomes: Iterable[Scanned]) -> Scanned:
    """The outcome of several scans as one."""
    total = Scanned()
    for scanned in outcomes:
        total.add(scanned)
    return total


def _scan_chunk(program: Program, admitted: Admitted, terms: Terms, scanned: Scanned) -> None:
    scanned.saw(int(admitted.times_us.min()), int(admitted.times_us.max()))
    for row_pass in program.row_passes:
        for _, timed in _joined_rows(program, row_pass, admitted):
            for picking in pick_rows(row_pass, timed.chunk, timed.times_us, timed.timely):
                scanned.pick(picking)
    if not program.passes:
        _count_accepted(np.ones(len(admitted.chunk), np.bool_), admitted, terms, scanned)
    for number, one_pass in enumerate(program.passes):
        since_us = terms.accepted_since_us
        is_kept = _scan_pass(program, one_pass, admitted, since_us, number, scanned)
        # Every pass meets every row, so one of them has the accounts.
        if number == 0:
            _count_accepted(is_kept, admitted, terms, scanned)


def _count_accepted(is_kept: BoolArray, admitted: Admitted, terms: Terms, scanned: Scanned) -> None:
    """Rows by verdict, of which some feed keeps those that are marked."""
    kept_rows = int(np.count_nonzero(is_kept))
    by_verdict = {FILTERED: len(is_kept) - kept_rows, COUNTED: kept_rows}
    if admitted.timely is not None:
        marks = {FILTERED: ~is_kept, COUNTED: is_kept}
        broken = terms.broken(admitted.times_us, ~admitted.timely)
        for verdict, correcting in CORRECTING.items():
            untimely = marks[verdict] & ~admitted.timely
            by_verdict[verdict] -= int(np.count_nonzero(untimely))
            by_verdict[BREAKING[correcting]] = int(np.count_nonzero(untimely & broken))
            by_verdict[correcting] = int(np.count_nonzero(untimely & ~broken))
    for verdict, rows in by_verdict.items():
        scanned.count(verdict, rows)


def _scan_pass(
    program: Program,
    one_pass: ArrayPass,
    admitted: Admitted,
    since_us: int,
    number: int,
    scanned: Scanned,
) -> BoolArray:
    """Scan a chunk for one pass; marks its rows that some feed keeps."""
    is_kept = np.full(len(admitted.chunk), one_pass.keeps_all)
    for rows, timed in _joined_rows(program, one_pass, admitted):
        signed = sign(one_pass.signing, timed.chunk)
        _count_raised(one_pass, timed.chunk, signed, number, scanned)
        for place, feed in enumerate(one_pass.feeds):
            sliced = slices(timed.times_us, classes_from(feed.synopses, since_us))
            cells = cells_of(feed, timed, signed, *sliced)
            if cells is not None:
                scanned.parts.setdefault((number, place), []).append(cells)
        if not one_pass.keeps_all:
            is_signed = np.any(signed.words, axis=1)[signed.ids]
            is_kept[is_signed if rows is None else rows[is_signed]] = True
    return is_kept


def _count_raised(
    one_pass: ArrayPass, chunk: Chunk, signed: Signed, number: int, scanned: Scanned
) -> None:
    for scalar in one_pass.raising:
        is_raised = chunk.computed(scalar).raised
        scanned.count_raised(number, scalar.sql, int(np.count_nonzero(is_raised)))
        if is_raised.any():
            ids, counts = np.unique(signed.ids[is_raised], return_counts=True)
            for feed in one_pass.feeds:
                raised = raised_by_signature(feed, scalar.sql, signed.words[ids], counts)
                scanned.count_by_signature(raised)


def _joined_rows(
    program: Program, one_pass: ArrayPass | RowPass, admitted: Admitted
) -> Iterator[tuple[IntArray | None, Admitted]]:
    """The rows with the tables of a pass beside them, and which of the chunk these are."""
    if not one_pass.joins:
        yield None, admitted
        return
    for chunk in joined_chunks(admitted.chunk, one_pass.joins, program.tables):
        yield chunk.rows, admitted.of_rows(chunk.rows, chunk)


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
