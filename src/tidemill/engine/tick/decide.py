"""Step 4 of a tick: how far time has come, which windows that closes, what may be dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tidemill.arrays import IntArray
from tidemill.catalog import Stream
from tidemill.engine.tick.context import DecideContext
from tidemill.engine.tick.journal import Decision, QueryState, TickRecord
from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.scan.contract import FoldReport
from tidemill.schedule import (
    Due,
    Specs,
    WindowRun,
    all_windows,
    due_windows,
    early_windows,
    last_instant,
    oldest_needed,
)
from tidemill.share import Stint, specs_of
from tidemill.state.store import Version, needs_snapshot
from tidemill.time import Register
from tidemill.time.promises import FLUSH
from tidemill.windows import BEGINNING_US, END_US, WindowSpec


class Decider:
    def __init__(self, context: DecideContext, stream: Stream) -> None:
        self._context, self._stream, plan = context, stream, context.plan
        synopses = plan.of_stream(stream.key)
        self._readers = {s.id: _Readers.of(plan.readers_of(s, False)) for s in synopses}
        self._soft = {s.id: _Readers.of(plan.readers_of(s, True)) for s in synopses}
        self._holds_rows = any(feed.query.ordered for feed in plan.rows_of(stream.key))

    def decide(self, record: TickRecord, folded: FoldReport, version: Version) -> Decision:
        """`version` is the store with the tick's own pieces added."""
        before = record.time.watermark_us
        after = record.time
        if record.arrived_us is not None:
            after = after.arrived(folded.newest_us, record.arrived_us, record.is_fresh)
        after = after.advanced(folded.newest_us, self._stream.lateness_us)
        # The rows of the tick itself were judged by what stood before it.
        after = after.promised(record.promised_us, record.word)
        until = END_US if record.flush else after.watermark_us
        if until is None:
            return Decision(after, folded)
        # A flush closes all windows that have begun by the newest row.
        span = TickSpan(before, until, after.newest_us if record.flush else None)
        due = tuple(
            run
            for key, readers in self._readers.items()
            for run in self._due(key, readers, version.slices(key), span)
        )
        if record.flush:
            ends = [run.last_end_us for run in due]
            lasts = [*ends, *self._next_update(after), *self._past_newest(after)]
            after = after.promised(max(lasts, default=None), FLUSH)
        return Decision(after, folded, due)

    def horizon(self, synopsis_id: str, decision: Decision) -> int:
        """Slices that start before this are of no more use after the tick.

        Soft queries are answered after it, about the last windows that have closed.
        """
        watermark, reach = (
            decision.time.watermark_us,
            decision.time.reach_us(self._stream.update_us),
        )
        if watermark is None or reach is None:
            return BEGINNING_US
        strict, soft = self._readers[synopsis_id].specs, self._soft[synopsis_id].specs
        before = reach - self._stream.update_us
        horizons = [oldest_needed(strict, watermark)] if strict.specs else []
        return min([*horizons, *([oldest_needed(soft, before)] if soft.specs else [])])

    def snapshots(self, decision: Decision, version: Version) -> dict[str, int]:
        """The synopses that this tick writes anew, and the time from which each is still live."""
        horizons = {key: self.horizon(key, decision) for key in self._readers}
        return {
            key: from_us
            for key, from_us in horizons.items()
            if self._is_long(key, from_us, version)
        }

    def _is_long(self, key: str, horizon_us: int, version: Version) -> bool:
        live = tuple(p for p in version.of(key) if p.last_us >= horizon_us)
        most = self._context.snapshot_pieces * self._context.buckets[key]
        return needs_snapshot(live, horizon_us, most)

    def _next_update(self, time: Register) -> list[int]:
        """The end of the update that has the last row, if soft queries wait for it."""
        next_us = time.next_update_us(self._stream.update_us)
        if next_us is None or not any(r.specs.specs for r in self._soft.values()):
            return []
        return [next_us]

    def _past_newest(self, time: Register) -> list[int]:
        """The time at which every row has left, if rows wait for it."""
        return [time.newest_us + 1] if self._holds_rows and time.newest_us is not None else []

    def _due(self, key: str, readers: _Readers, slices: IntArray, span: TickSpan) -> Iterator[Due]:
        """Of each query the windows of its stint here; a paused one has none."""
        closed = due_windows(readers.specs, slices, span.after_us, span.until_us)
        open_runs = _OpenRuns(readers.specs, slices, span)
        for (query, stint), numbers in zip(readers.readers, readers.numbers, strict=True):
            if Name(query.name) in self._context.paused:
                continue
            for number in numbers:
                reader = _Reader(key, query, stint, readers.specs.specs[number])
                if query.emit.empty_windows:
                    yield from self._with_empty(reader, slices, span)
                else:
                    yield from reader.due(closed[number])
                yield from open_runs.due(reader, number)

    def _with_empty(self, reader: _Reader, slices: IntArray, span: TickSpan) -> Iterator[Due]:
        """The windows with rows and without, once one with rows has come."""
        state = self._context.states.get(reader.query.name, QueryState())
        if not state.has_begun and not len(slices):
            return
        run = all_windows(reader.spec, slices, span.after_us, span.last_end_us(reader.spec))
        for due in reader.due([run] if run else []):
            most = self._context.most_empty_windows
            yield due._replace(most_empty=most, has_begun=state.has_begun)


@dataclass(frozen=True)
class TickSpan:
    """The watermark before a tick and after it; of a flush also the newest row."""

    after_us: int | None
    until_us: int
    newest_us: int | None

    @property
    def is_flush(self) -> bool:
        return self.until_us == END_US

    def last_end_us(self, spec: WindowSpec) -> int:
        """No window that the tick closes ends later."""
        if self.newest_us is None:
            return self.until_us
        started = (self.newest_us - spec.start_us) // spec.slide_us
        return spec.window_start(started) + spec.range_us


@dataclass(frozen=True)
class _Reader:
    """A query with the windows of one length, and its stint in a synopsis."""

    key: str
    query: QueryPlan
    stint: Stint
    spec: WindowSpec

    def due(self, runs: Iterable[WindowRun]) -> Iterator[Due]:
        """The windows of the stint."""
        for run in runs:
            within = _within(run, self.spec, self.stint)
            if within.windows > 0:
                yield Due(
                    self.query.name, self.key, self.spec.range_us, self.spec.slide_us, *within
                )


@dataclass(frozen=True)
class _OpenRuns:
    """The windows that stay open, by the instant before which their rows are answered."""

    specs: Specs
    slices: IntArray
    span: TickSpan
    _by_instant: dict[int, list[list[WindowRun]]] = field(default_factory=dict)

    def due(self, reader: _Reader, number: int) -> Iterator[Due]:
        """The early answers of a query, if the watermark has come to an instant of them."""
        every_us, window = reader.query.emit.every_us, reader.query.window
        if not every_us or self.span.is_flush:
            return
        span = self.span
        instant_us = last_instant(every_us, window.start_us, span.after_us, span.until_us)
        if instant_us is None:
            return
        if instant_us not in self._by_instant:
            self._by_instant[instant_us] = early_windows(
                self.specs, self.slices, instant_us, span.until_us
            )
        for due in reader.due(self._by_instant[instant_us][number]):
            yield due._replace(as_of_us=instant_us)


@dataclass(frozen=True)
class _Readers:
    """The readers of a synopsis, their distinct windows, and which of those each has."""

    readers: tuple[tuple[QueryPlan, Stint], ...]
    specs: Specs
    numbers: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(readers: tuple[tuple[QueryPlan, Stint], ...]) -> _Readers:
        by_query = [specs_of(query) for query, _ in readers]
        specs = dict.fromkeys(spec for specs in by_query for spec in specs)
        distinct = {spec: number for number, spec in enumerate(specs)}
        numbers = tuple(tuple(distinct[spec] for spec in specs) for specs in by_query)
        return _Readers(readers, Specs.of(distinct), numbers)


def _within(run: WindowRun, spec: WindowSpec, stint: Stint) -> WindowRun:
    """The part of a run that begins within the stint."""
    skipped = max(0, -((run.first_us - stint.from_us) // spec.slide_us))
    first_us = run.first_us + skipped * spec.slide_us
    before_end = -((first_us - stint.until_us) // spec.slide_us)
    return WindowRun(first_us, min(run.windows - skipped, before_end))
