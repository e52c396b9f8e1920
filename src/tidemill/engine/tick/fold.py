"""Steps 1 to 3 of a tick: admit the rows, aggregate them once, fold them into pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from tidemill.catalog import Stream
from tidemill.clock import Stopwatch
from tidemill.connect.sources import AnySource, Input
from tidemill.connect.sources.contract import Files
from tidemill.connect.sources.parts import array_parts
from tidemill.engine.tick.context import FoldContext
from tidemill.engine.tick.journal import TickRecord
from tidemill.scan.arrays.aside import set_aside_on_arrays
from tidemill.scan.arrays.files import Part
from tidemill.scan.arrays.program import write_program
from tidemill.scan.contract import LATE, MALFORMED, Admission, FoldPlace, FoldReport, SideFiles
from tidemill.scan.routes import divide_feeds, hindrance
from tidemill.spark.array_fold import ArrayFold, ArrayReport, fold_on_arrays
from tidemill.spark.catalyst.fold import fold_in_catalyst
from tidemill.spark.catalyst.partials import catalyst_passes, partials
from tidemill.spark.catalyst.row_pass import (
    catalyst_row_passes,
    row_frame,
    rows_in_catalyst,
    with_arrival,
)
from tidemill.spark.jobs import catalyst_work, picked_work
from tidemill.spark.readers import unreadable_parts
from tidemill.spark.rows import Rows, read_rows, set_aside_in_catalyst
from tidemill.spark.session import Session
from tidemill.state.feed import Feed
from tidemill.state.row_pieces import RowFeed


class ScanFolder:
    """Folds the rows of a stream, on arrays or in Catalyst."""

    def __init__(self, context: FoldContext, stream: Stream, source: AnySource) -> None:
        self._context, self._stream, self._source = context, stream, source
        self._feeds, self._row_feeds = context.feeds[stream.key], context.row_feeds[stream.key]
        self._last_partial_rows: int | None = None
        self._last_picked_rows: int | None = None
        division = divide_feeds(stream, self._feeds, context.scan, self._row_feeds)
        self._others, self._other_rows = division.by_catalyst, division.rows_by_catalyst
        plain, plain_rows = division.by_arrays, division.rows_by_arrays
        tables = context.home.tables
        self._program = (
            write_program(stream, plain, tables, plain_rows) if plain or plain_rows else None
        )

    def fold(self, record: TickRecord, watch: Stopwatch) -> tuple[TickRecord, FoldReport]:
        """The record without files that cannot be read, and the report of the fold."""
        self._context.failpoint.reach("admit", record.number)
        if record.portion is None or not self._feeds:
            return record, FoldReport()
        try:
            report, refused_in = self._fold(record, watch)
        except Exception:
            record = self._without_unreadable(record)
            report, refused_in = FoldReport(), ()
            if record.portion is not None:
                report, refused_in = self._fold(record, watch)
        with watch.phase("admit"):
            self._set_aside(record, report, refused_in)
        return record, report

    def _fold(self, record: TickRecord, watch: Stopwatch) -> tuple[FoldReport, tuple[Part, ...]]:
        """The report of both routes, and the parts in which arrays have refused rows."""
        by_arrays = self._on_arrays(record, watch)
        report = by_arrays.fold if by_arrays else FoldReport()
        by_catalyst = self._others if by_arrays else self._feeds
        rows = self._other_rows if by_arrays else self._row_feeds
        if by_catalyst or rows:
            report = report.beside(self._in_catalyst(record, by_catalyst, rows, watch))
        self._last_partial_rows = report.partial_rows
        pieces = (report.pieces.get(feed.id, ()) for feed in self._other_rows)
        self._last_picked_rows = sum(piece.rows for several in pieces for piece in several)
        # Both steps may be one Spark job; the tasks say how long they folded.
        watch.add("fold", report.seconds)
        watch.add("partials", -report.seconds)
        return report, by_arrays.refused_in if by_arrays else ()

    def _on_arrays(self, record: TickRecord, watch: Stopwatch) -> ArrayReport | None:
        """The feeds that arrays can serve; None if there are none, or some file needs Catalyst."""
        context, program = self._context, self._program
        if program is None:
            return None
        with watch.phase("admit"):
            parts = array_parts(program, self._source, self._input(record))
        if parts is None:
            return None
        with watch.phase("partials"):
            since_us = self._admission(record).since_us
            fold = ArrayFold(program, since_us, self._place(record))
            return fold_on_arrays(context.session, fold, parts, self._last_partial_rows or 0)

    def _in_catalyst(
        self,
        record: TickRecord,
        feeds: Sequence[Feed],
        row_feeds: Sequence[RowFeed],
        watch: Stopwatch,
    ) -> FoldReport:
        context, admission = self._context, self._admission(record)
        row_passes = catalyst_row_passes(row_feeds, admission, self._paths(record))
        with watch.phase("admit"):
            rows = self._rows(record, (*feeds, *row_feeds))
            if any(one_pass.is_ordered for one_pass in row_passes):
                rows = with_arrival(rows)
            passes = catalyst_passes(feeds, admission)
        readings = len(passes) + sum(p.looks_up_slices for p in passes) + len(row_passes)
        with self._cached(rows, readings):
            with watch.phase("admit"):
                session, tables = self._session(), context.tables
                frames = [(p, partials(session, rows, p, tables)) for p in passes]
                row_frames = [(p, row_frame(session, rows, p, tables)) for p in row_passes]
            with watch.phase("partials"):
                most_rows = self._source.most_rows(self._input(record))
                work, place = catalyst_work(self._last_partial_rows, most_rows), self._place(record)
                report = fold_in_catalyst(frames, place, work) if frames else FoldReport()
                row_work = picked_work(self._last_picked_rows, most_rows)
                return report.beside(rows_in_catalyst(row_frames, place, row_work))

    def _place(self, record: TickRecord) -> FoldPlace:
        context = self._context
        return FoldPlace(context.home.synopses, context.buckets, record.number, context.failpoint)

    def _admission(self, record: TickRecord) -> Admission:
        return Admission(
            self._stream, record.time.watermark_us, record.batch_time_us, self._source.is_text
        )

    def _rows(self, record: TickRecord, feeds: Sequence[Feed | RowFeed]) -> Rows:
        columns = [name for feed in feeds for name in feed.scan.columns]
        return read_rows(self._session(), self._stream, self._source, self._input(record), columns)

    def _paths(self, record: TickRecord) -> tuple[str, ...]:
        """The files of the input, if it is in files."""
        reading = self._source.read(self._input(record), [])
        return reading.paths if isinstance(reading, Files) else ()

    def _session(self) -> Session:
        reason = hindrance(self._stream, self._others, self._context.scan, self._other_rows)
        return self._context.session(
            f"stream {self._stream.name}: {reason or 'its input is not plain'}"
        )

    def _input(self, record: TickRecord) -> Input:
        portion: Input = self._source.restore(record.portion)
        return portion

    @contextmanager
    def _cached(self, rows: Rows, readings: int) -> Iterator[None]:
        """Rows that are dear to make are made once, however often they are read."""
        if readings < 2 or self._source.is_cheap:
            yield
            return
        rows.persist()
        try:
            yield
        finally:
            rows.unpersist()

    def _without_unreadable(self, record: TickRecord) -> TickRecord:
        """Called while a failed read is being handled: goes on without its cause, or raises it."""
        portion = self._input(record)
        columns = [column.name for column in self._stream.stored_columns]
        bad = unreadable_parts(self._context.session, self._source, portion, columns)
        if not bad:
            raise
        rest = self._source.without(portion, bad)
        record = replace(record, portion=rest.to_json() if rest else None, skipped=bad)
        self._context.journal.begin(record)
        return record

    def _set_aside(
        self, record: TickRecord, report: FoldReport, refused_in: tuple[Part, ...]
    ) -> None:
        """Write the side files, by arrays as far as they have judged the rows and can."""
        admission = self._admission(record)
        files = SideFiles(self._context.home.stream_folder(self._stream.name), record.number)
        files.clear()
        verdicts = {verdict for verdict in (LATE, MALFORMED) if report.rows.get(verdict)}
        source, portion = self._source, self._input(record)
        if refused_in:
            make_parts = partial(array_parts, source=source, portion=portion)
            verdicts -= set_aside_on_arrays(admission, refused_in, verdicts, files, make_parts)
        if verdicts:
            session = self._context.session(f"the side files of stream {self._stream.name}")
            set_aside_in_catalyst(session, source, portion, admission, verdicts, files)
