"""Step 4 of a tick: how far time has come, which windows that closes, what may be dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tidemill.arrays import IntArray
from tidemill.catalog import Stream
from tidemill.engine.corrections.touched import Corrector
from tidemill.engine.tick.bases import (
    Basis,
    Registers,
    TickSpan,
    Versions,
    bases_with,
    keepers_of,
    register_of,
)
from tidemill.engine.tick.context import DecideContext
from tidemill.engine.tick.journal import Decision, QueryState, TickRecord
from tidemill.engine.tick.stints import basis_id, joint_stints_of
from tidemill.language.names import Name
from tidemill.plan.relation import source_names
from tidemill.scan.contract import FoldReport
from tidemill.schedule import (
    Due,
    Specs,
    WindowRun,
    all_windows,
    due_windows,
    early_windows,
    last_instant,
)
from tidemill.schedule.askers import Asker
from tidemill.schedule.comparisons import BasisStint, Comparison, with_compared
from tidemill.state.store import Version, needs_snapshot
from tidemill.time import Register
from tidemill.time.promises import FLUSH
from tidemill.windows import BEGINNING_US


class Decider:
    """Decides for what is answered from a basis that has some synopsis of the stream."""

    def __init__(self, context: DecideContext, stream: Stream) -> None:
        self._context, self._stream = context, stream
        self._bases = bases_with(context.plan, stream.key)
        self._askers = {basis.synopses: basis.askers(context.paused) for basis in self._bases}
        synopses = [synopsis.id for synopsis in context.plan.of_stream(stream.key)]
        beside = (key for basis in self._bases for key in basis.synopses)
        self._keepers = keepers_of(context.plan, (*synopses, *beside), context.corrects)
        self._correctors = [
            Corrector(context.synopses, context.plan, basis, context.paused)
            for basis in self._bases
        ]
        self._updates = [
            (basis.sources, basis.soft[0][0].window.update_us)
            for basis in self._bases
            if basis.soft
        ]
        self._changing = list(
            {q.name: q for b in self._bases for q, _ in b.strict if q.delta}.values()
        )
        # Beyond the newest row by what the results of a query outlive it, if they leave as they go.
        self._held = [
            (source_names(query.relation), query.lives_us + 1)
            for query in context.plan.row_queries
            if query.ordered and stream.key in source_names(query.relation)
        ]

    def decide(
        self,
        record: TickRecord,
        folded: FoldReport,
        versions: Versions,
        finals: Mapping[Name, int | None],
    ) -> Decision:
        """`versions` are the store with the tick's own pieces added, by stream; windows that end by
        the `finals` of their streams are not answered again."""
        after = record.time
        if record.arrived_us is not None:
            after = after.arrived(folded.newest_us, record.arrived_us, record.is_fresh)
        after = after.advanced(folded.newest_us, self._stream.lateness_us)
        # The rows of the tick itself were judged by what stood before it.
        after = after.promised(record.promised_us, record.word)
        if record.flush:
            after = after.promised(max(self._ends(record, after, versions), default=None), FLUSH)
        before, times = record.times(), record.times(after)
        due = tuple(
            run
            for basis in self._bases
            if (span := basis.span(before, times, record.flush)) is not None
            for run in self._due(basis, versions, span)
        )
        states = self._context.states
        if self._changing:
            due = tuple(with_compared(due, dict(self._comparisons(before))))
        due += tuple(
            run
            for corrector in self._correctors
            for run in corrector.due(folded.pieces, before, versions, finals, states)
        )
        return Decision(after, folded, due)

    def _comparisons(self, before: Registers) -> Iterator[tuple[str, Comparison]]:
        """By query that delivers changes, the windows that it has answered or does now."""
        for query in self._changing:
            since_us = self._context.states[query.name].revisions.since_us
            if since_us is None:
                since_us = register_of(source_names(query.relation), before).watermark_us
            stints = tuple(
                BasisStint(basis_id(stint.basis), stint.from_us, stint.until_us)
                for stint in joint_stints_of(self._context.plan, query.name)
            )
            since_us = BEGINNING_US if since_us is None else since_us
            yield query.name, Comparison(query.window, query.delta, stints, since_us)

    def horizon(self, synopsis_id: str, times: Registers) -> int:
        """Slices that start before this are of no more use, as far as time has come.

        Soft queries are answered after the tick, about the last windows that have closed.
        """
        return min(keeper.horizon_us(times) for keeper in self._keepers[synopsis_id])

    def snapshots(self, times: Registers, version: Version) -> dict[str, int]:
        """The synopses that this tick writes anew, and the time from which each is still live."""
        synopses = self._context.plan.of_stream(self._stream.key)
        horizons = {synopsis.id: self.horizon(synopsis.id, times) for synopsis in synopses}
        return {
            key: from_us
            for key, from_us in horizons.items()
            if self._is_long(key, from_us, version)
        }

    @property
    def synopses(self) -> tuple[str, ...]:
        """Those whose slices a tick may leave without use: its own, and those read beside them."""
        return tuple(self._keepers)

    def _is_long(self, key: str, horizon_us: int, version: Version) -> bool:
        live = tuple(p for p in version.of(key) if p.last_us >= horizon_us)
        most = self._context.snapshot_pieces * self._context.buckets[key]
        return needs_snapshot(live, horizon_us, most)

    def _ends(self, record: TickRecord, after: Register, versions: Versions) -> Iterator[int]:
        """The times that a flush comes to: it closes all windows that have begun by the newest
        row, and those over several streams once the last of these is flushed."""
        before, times = record.times(), record.times(after)
        for basis in self._bases:
            span = basis.last_span(before, times)
            yield from (run.last_end_us for run in self._due(basis, versions, span))
        for sources, update_us in self._updates:
            next_us = register_of(sources, times).next_update_us(update_us)
            yield from () if next_us is None else (next_us,)
        for sources, beyond_us in self._held:
            newest_us = register_of(sources, times).newest_us
            yield from () if newest_us is None else (newest_us + beyond_us,)

    def _due(self, basis: Basis, versions: Versions, span: TickSpan) -> Iterator[Due]:
        """Of the queries that are answered from a basis the windows of their stints here."""
        slices = basis.slices(versions)
        closed = due_windows(basis.specs, slices, span.after_us, span.until_us)
        open_runs = _OpenRuns(basis.specs, slices, span)
        for asker in self._askers[basis.synopses]:
            if asker.emit.empty_windows:
                yield from self._with_empty(asker, slices, span)
            else:
                yield from asker.due(closed[asker.number])
            yield from open_runs.due(asker)

    def _with_empty(self, asker: Asker, slices: IntArray, span: TickSpan) -> Iterator[Due]:
        """The windows with rows and without, once one with rows has come."""
        (query,) = asker.queries
        state = self._context.states.get(query, QueryState())
        # The first rows of a query that moves may lie where it came from.
        is_moving = len(joint_stints_of(self._context.plan, query)) > 1
        if not state.has_begun and not len(slices) and not is_moving:
            return
        run = all_windows(asker.spec, slices, span.after_us, span.last_end_us(asker.spec))
        for due in asker.due([run] if run else []):
            most = self._context.most_empty_windows
            yield due._replace(most_empty=most, has_begun=state.has_begun)


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
