"""Step 4 of a tick: how far time has come, which windows that closes, what may be dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tidemill.arrays import IntArray
from tidemill.catalog import Stream
from tidemill.engine.tick.context import DecideContext
from tidemill.engine.tick.corrections import Closed, Corrector
from tidemill.engine.tick.journal import Decision, QueryState, TickRecord
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
from tidemill.schedule.askers import Asker, askers_of, distinct_specs
from tidemill.state.store import Version, needs_snapshot
from tidemill.time import Register
from tidemill.time.promises import FLUSH
from tidemill.windows import BEGINNING_US, END_US, WindowSpec


class Decider:
    def __init__(self, context: DecideContext, stream: Stream) -> None:
        self._context, self._stream, plan = context, stream, context.plan
        synopses = plan.of_stream(stream.key)
        strict = {s.id: plan.readers_of(s, False) for s in synopses}
        self._specs = {key: distinct_specs(readers) for key, readers in strict.items()}
        self._soft_specs = {s.id: distinct_specs(plan.readers_of(s, True)) for s in synopses}
        self._askers = {
            key: askers_of(key, readers, self._specs[key], context.paused)
            for key, readers in strict.items()
        }
        self._holds_rows = any(feed.query.ordered for feed in plan.rows_of(stream.key))
        self._correctors = {
            s.id: Corrector(context.synopses, s, strict[s.id], context.paused)
            for s in synopses
            if stream.correct_us
        }

    def decide(
        self, record: TickRecord, folded: FoldReport, version: Version, final_us: int | None = None
    ) -> Decision:
        """`version` is the store with the tick's own pieces added; windows that end by `final_us`
        are not answered again."""
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
        due = tuple(run for key in self._askers for run in self._due(key, version, span))
        due += tuple(self._revised(before, folded, version, final_us))
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
        strict, soft = self._specs[synopsis_id], self._soft_specs[synopsis_id]
        before, final_us = reach - self._stream.update_us, self._stream.final_us(watermark)
        horizons = [oldest_needed(strict, final_us)] if strict.specs else []
        return min([*horizons, *([oldest_needed(soft, before)] if soft.specs else [])])

    def snapshots(self, decision: Decision, version: Version) -> dict[str, int]:
        """The synopses that this tick writes anew, and the time from which each is still live."""
        horizons = {key: self.horizon(key, decision) for key in self._specs}
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
        if next_us is None or not any(s.specs for s in self._soft_specs.values()):
            return []
        return [next_us]

    def _past_newest(self, time: Register) -> list[int]:
        """The time at which every row has left, if rows wait for it."""
        return [time.newest_us + 1] if self._holds_rows and time.newest_us is not None else []

    def _revised(
        self, until_us: int | None, folded: FoldReport, version: Version, final_us: int | None
    ) -> Iterator[Due]:
        """The windows closed by then that rows of the tick have touched."""
        if until_us is None:
            return
        for key, corrector in self._correctors.items():
            if pieces := folded.pieces.get(key, ()):
                complete_from_us = version.complete_from.get(key, BEGINNING_US)
                closed = Closed(until_us, final_us, complete_from_us)
                yield from corrector.due(pieces, closed, self._context.states)

    def _due(self, key: str, version: Version, span: TickSpan) -> Iterator[Due]:
        """Of the queries that read a synopsis the windows of their stints here."""
        specs, slices = self._specs[key], version.slices(key)
        closed = due_windows(specs, slices, span.after_us, span.until_us)
        open_runs = _OpenRuns(specs, slices, span)
        for asker in self._askers[key]:
            if asker.emit.empty_windows:
                yield from self._with_empty(asker, slices, span)
            else:
                yield from asker.due(closed[asker.number])
            yield from open_runs.due(asker)

    def _with_empty(self, asker: Asker, slices: IntArray, span: TickSpan) -> Iterator[Due]:
        """The windows with rows and without, once one with rows has come."""
        (query,) = asker.queries
        state = self._context.states.get(query, QueryState())
        if not state.has_begun and not len(slices):
            return
        run = all_windows(asker.spec, slices, span.after_us, span.last_end_us(asker.spec))
        for due in asker.due([run] if run else []):
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
class _OpenRuns:
    """The windows that stay open, by the instant before which their rows are answered."""

    specs: Specs
    slices: IntArray
    span: TickSpan
    _by_instant: dict[int, list[list[WindowRun]]] = field(default_factory=dict)

    def due(self, asker: Asker) -> Iterator[Due]:
        """The early answers, if the watermark has come to an instant of them."""
        every_us, start_us = asker.emit.every_us, asker.spec.start_us
        if not every_us or self.span.is_flush:
            return
        span = self.span
        instant_us = last_instant(every_us, start_us, span.after_us, span.until_us)
        if instant_us is None:
            return
        if instant_us not in self._by_instant:
            self._by_instant[instant_us] = early_windows(
                self.specs, self.slices, instant_us, span.until_us
            )
        for due in asker.due(self._by_instant[instant_us][asker.number]):
            yield due._replace(as_of_us=instant_us)
