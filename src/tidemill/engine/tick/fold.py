"""Steps 1 to 3 of a tick: admit the rows, aggregate them once, fold them into pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from tidemill.catalog import Stream
from tidemill.clock import Stopwatch
from tidemill.connect.sources import AnySource, Input
from tidemill.connect.sources.contract import Files
from tidemill.connect.sources.parts import array_parts, settle_by_footers, settle_by_parts
from tidemill.engine.tick.context import FoldContext
from tidemill.engine.tick.journal import TickRecord
from tidemill.scan.arrays.aside import set_aside_on_arrays
from tidemill.scan.arrays.files import Part
from tidemill.scan.arrays.program import write_program
from tidemill.scan.contract import (
    Admission,
    FoldPlace,
    FoldReport,
    SideFiles,
    Terms,
    side_file,
)
from tidemill.scan.routes import divide_feeds, hindrance
from tidemill.spark.array_fold import ArrayFold, fold_on_arrays
from tidemill.spark.catalyst.fold import CatalystReport, fold_in_catalyst
from tidemill.spark.catalyst.partials import catalyst_passes, partials
from tidemill.spark.catalyst.row_pass import (
    catalyst_row_passes,
    row_frame,
    rows_in_catalyst,
    with_arrival,
)
from tidemill.spark.jobs import catalyst_work, picked_work
from tidemill.spark.readers import unreadable_parts
from tidemill.spark.rows import Rows, admitted_rows, set_aside_in_catalyst
from tidemill.spark.session import Session
from tidemill.state.feed import Feed
from tidemill.state.row_pieces import RowFeed
from tidemill.time import LATEST_US


@dataclass(frozen=True)
class RouteReport:
    """The report of what has been folded, the terms with the bounds of arrivals if there are
    several, and the parts in which arrays have refused rows."""

    report: FoldReport = field(default_factory=FoldReport)
    terms: Terms = field(default_factory=Terms)
    refused_in: tuple[Part, ...] = ()


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
            outcome = self._fold(record, watch)
        except Exception:
            record = self._without_unreadable(record)
            if record.portion is None:
                return record, FoldReport()
            outcome = self._fold(record, watch)
        with watch.phase("admit"):
            self._set_aside(record, outcome)
        return record, outcome.report

    def _fold(self, record: TickRecord, watch: Stopwatch) -> RouteReport:
        """What both routes have done; the first of them tells the other the bounds of arrivals."""
        outcome = self._on_arrays(record, watch)
        feeds = self._feeds if outcome is None else self._others
        rows = self._row_feeds if outcome is None else self._other_rows
        outcome = outcome or RouteReport(terms=self._terms(record))
        if feeds or rows:
            outcome = self._in_catalyst(record, feeds, rows, outcome, watch)
        report = outcome.report
        self._last_partial_rows = report.partial_rows
        pieces = (report.pieces.get(feed.id, ()) for feed in self._other_rows)
        self._last_picked_rows = sum(piece.rows for several in pieces for piece in several)
        # Both steps may be one Spark job; the tasks say how long they folded.
        watch.add("fold", report.seconds)
        watch.add("partials", -report.seconds)
        return outcome

    def _on_arrays(self, record: TickRecord, watch: Stopwatch) -> RouteReport | None:
        """The feeds that arrays can serve; None if there are none, or some file needs Catalyst."""
        context, program = self._context, self._program
        if program is None:
            return None
        if program.is_stamped:
            program = replace(program, stamp_us=record.batch_time_us)
        with watch.phase("admit"):
            parts = array_parts(program, self._source, self._input(record))
        if parts is None:
            return None
        with watch.phase("partials"):
            fold = ArrayFold(
                program, settle_by_parts(self._terms(record), parts), self._place(record)
            )
            scanned = fold_on_arrays(context.session, fold, parts, self._last_partial_rows or 0)
        return RouteReport(scanned.fold, scanned.terms, scanned.refused_in) if scanned else None

    def _in_catalyst(
        self,
        record: TickRecord,
        feeds: Sequence[Feed],
        row_feeds: Sequence[RowFeed],
        before: RouteReport,
        watch: Stopwatch,
    ) -> RouteReport:
        """Beside what has been done before. Where bounds come out of the groups, arrivals that are
        judged only row by row are read once more, and then the rows that leave."""
        admission = self._admission(record, before.terms)
        at_once = () if admission.judges_later else row_feeds
        grouped = self._pass_in_catalyst(record, feeds, at_once, admission, watch)
        report = grouped.fold
        settled = replace(admission, terms=grouped.judgement.terms)
        if again := grouped.judgement.arrivals_again:
            mixed = replace(settled, arrivals=again)
            report = report.joined(self._pass_in_catalyst(record, feeds, (), mixed, watch).fold)
        if row_feeds and not at_once:
            leaving = self._pass_in_catalyst(record, (), row_feeds, settled, watch)
            report = report.beside(leaving.fold)
        return RouteReport(before.report.beside(report), settled.terms, before.refused_in)

    def _pass_in_catalyst(
        self,
        record: TickRecord,
        feeds: Sequence[Feed],
        row_feeds: Sequence[RowFeed],
        admission: Admission,
        watch: Stopwatch,
    ) -> CatalystReport:
        context = self._context
        row_passes = catalyst_row_passes(row_feeds, admission, self._paths(record))
        with watch.phase("admit"):
            rows = self._rows(record, admission, (*feeds, *row_feeds))
            if any(one_pass.is_ordered for one_pass in row_passes):
                rows = with_arrival(rows)
            passes = catalyst_passes(feeds, admission)
        readings = len(passes) + sum(p.looks_up_slices for p in passes) + len(row_passes)
        with self._cached(rows, readings):
            with watch.phase("admit"):
                tables = context.tables
                frames = [(p, partials(rows, p, tables)) for p in passes]
                row_frames = [(p, row_frame(rows, p, tables)) for p in row_passes]
            with watch.phase("partials"):
                most_rows = self._source.most_rows(self._input(record))
                work, place = catalyst_work(self._last_partial_rows, most_rows), self._place(record)
                row_work = picked_work(self._last_picked_rows, most_rows)
                grouped = fold_in_catalyst(frames, place, work, admission)
                picked = rows_in_catalyst(row_frames, place, row_work)
                return replace(grouped, fold=grouped.fold.beside(picked))

    def _place(self, record: TickRecord) -> FoldPlace:
        context = self._context
        return FoldPlace(context.home.synopses, context.buckets, record.number, context.failpoint)

    def _terms(self, record: TickRecord) -> Terms:
        stream, latest_us = self._stream, LATEST_US
        if stream.ahead_us is not None and record.clock_us is not None:
            latest_us = min(latest_us, record.clock_us + stream.ahead_us)
        lateness_us, correct_us = stream.lateness_us, stream.correct_us
        return Terms(record.time, lateness_us, latest_us, correct_us=correct_us)

    def _admission(self, record: TickRecord, terms: Terms) -> Admission:
        """With the arrivals, unless their rows are stamped: those are never late."""
        stream, source = self._stream, self._source
        if stream.stamped_on_arrival:
            terms = replace(terms, bounds={})
            return Admission(stream, terms, record.batch_time_us, source.is_text)
        reading = source.read(self._input(record), [stream.time_column])
        arrivals, terms = reading.arrivals, settle_by_footers(terms, stream, reading)
        return Admission(stream, terms, record.batch_time_us, source.is_text, arrivals)

    def _rows(
        self, record: TickRecord, admission: Admission, feeds: Sequence[Feed | RowFeed]
    ) -> Rows:
        columns = [name for feed in feeds for name in feed.scan.columns]
        portion = self._input(record)
        return admitted_rows(self._session(), self._source, portion, admission, columns)

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

    def _side_files(self, tick: int) -> SideFiles:
        home, stream = self._context.home, self._stream
        handed = {
            verdict: home.handovers / side / side_file(tick)
            for verdict, side in self._context.sides.get(stream.key, {}).items()
        }
        return SideFiles(home.stream_folder(stream.name), tick, handed)

    def _set_aside(self, record: TickRecord, outcome: RouteReport) -> None:
        """Write the side files, by arrays as far as they have judged the rows and can."""
        files = self._side_files(record.number)
        files.clear()
        rows = outcome.report.aside
        verdicts = set(rows)
        if not verdicts:
            return
        source, portion = self._source, self._input(record)
        admission = self._admission(record, outcome.terms)
        if outcome.refused_in:
            make_parts = partial(array_parts, source=source, portion=portion)
            verdicts -= set_aside_on_arrays(
                admission, outcome.refused_in, verdicts, files, make_parts
            )
        if verdicts:
            session = self._context.session(f"the side files of stream {self._stream.name}")
            refused = sum(rows[verdict] for verdict in verdicts)
            set_aside_in_catalyst(session, source, portion, admission, verdicts, files, refused)
