"""The six steps of a tick as a machine, each replayable from what the step before wrote down.

    Begun ── admit, partials, fold ──> Folded ── decide ──> Decided ── answer ──> Answered
      │                                                        │                     │
      └─ the record is in the journal    the decision is too ──┘      deliver, commit ──> TickReport

A process may end after any step. Another machine over the same journal then resumes from the
record, or from the decision if all pieces that it names are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from tidemill.answer.task import TaskResult
from tidemill.catalog import Stream
from tidemill.clock import Clock, Stopwatch
from tidemill.connect.sources import Input
from tidemill.engine.corrections.review import Review
from tidemill.engine.rows.row_answer import RowAnswer
from tidemill.engine.rows.row_answers import RowAnswerer
from tidemill.engine.tick.answer import Answerer
from tidemill.engine.tick.bases import beside
from tidemill.engine.tick.context import AnswerContext, DecideContext
from tidemill.engine.tick.decide import Decider
from tidemill.engine.tick.deliver import Deliverer
from tidemill.engine.tick.handover import TickHandover
from tidemill.engine.tick.journal import Decision, Journal, QueryState, StreamState, TickRecord
from tidemill.engine.tick.report import TickReport
from tidemill.language.names import Name, answered_by
from tidemill.plan.relation import source_name
from tidemill.plan.scalars import normal_text
from tidemill.scan.contract import FoldReport
from tidemill.schedule import History
from tidemill.state.raised import restated
from tidemill.state.store import Version, sweep
from tidemill.time import Promise


class RowFolder(Protocol):
    """Steps 1 to 3: the rows that a record names, as pieces."""

    def fold(self, record: TickRecord, watch: Stopwatch) -> tuple[TickRecord, FoldReport]:
        """The record without files that cannot be read, and the report of the fold."""


@dataclass(frozen=True)
class Begun:
    """The record is written, and nothing has been read."""

    record: TickRecord
    watch: Stopwatch = field(default_factory=Stopwatch)


@dataclass(frozen=True)
class Folded:
    """The pieces are on disk, and no journal names them yet."""

    record: TickRecord
    report: FoldReport
    watch: Stopwatch


@dataclass(frozen=True)
class Decided:
    """The decision is written: from here on the input is not read again."""

    record: TickRecord
    decision: Decision
    version: Version  # with the pieces of the tick
    snapshots: Mapping[str, int]  # by synopsis to write anew, the time from which it is live
    watch: Stopwatch


@dataclass(frozen=True)
class Answered:
    """Answers wait in memory or in staged files that no ledger names."""

    tick: Decided
    results: list[TaskResult]
    rows: list[RowAnswer]


Stage = Begun | Folded | Decided | Answered


class TickMachine:
    """The ticks of one stream under one plan.

    `streams` has the committed states of all streams of the home; commits bring them up to date.
    `remove` is given the files of pieces that no version names any more.
    """

    def __init__(
        self,
        stream: Stream,
        streams: dict[Name, StreamState],
        folder: RowFolder,
        decide: DecideContext,
        answer: AnswerContext,
        journal: Journal,
        clock: Clock,
        remove: Callable[[Iterable[Path]], None],
    ) -> None:
        self._streams = streams
        self._stream, self._plan, self._folder = stream, answer.plan, folder
        self._decider = Decider(decide, stream)
        self._answerer = Answerer(answer, stream)
        self._row_answerer = RowAnswerer(answer, stream)
        self._deliverer = Deliverer(answer, stream)
        self._journal, self._clock, self._remove = journal, clock, remove
        self._folders, self._states = answer.folders, answer.states
        self._paused = answer.paused
        # Which windows these have answered matters later.
        queries = answer.queries_of(stream)
        self._remembering = [query for query in queries if query.revises or query.delta]
        self._handover = TickHandover.of(answer.handovers, stream, self._plan)
        self._handover.sweep(self.state.tick + 1)
        self._synopses = {synopsis.id for synopsis in self._plan.of_stream(stream.key)}
        self._row_feeds = {feed.id for feed in self._plan.rows_of(stream.key)}
        kept_ids = self._synopses | self._row_feeds
        self.beside = beside(self._plan, stream.key)
        sweep(self._folders.synopses, self.state.version, kept_ids, self._pending())

    @property
    def state(self) -> StreamState:
        """The committed state of the stream."""
        return self._streams[self._stream.key]

    def begin(
        self,
        portion: Input | None,
        flush: bool = False,
        carried: tuple[str, ...] = (),
        promised: Promise | None = None,
        arrived_us: int | None = None,
        is_fresh: bool = False,
    ) -> Begun:
        """A tick over an input, or over none; `carried` soft queries are being answered.

        An input `is_fresh` if it came after a look that found none; it arrived now unless it did
        by another clock.
        """
        record = replace(self._record(portion, flush), carried=carried, is_fresh=is_fresh)
        if arrived_us is not None:
            record = replace(record, arrived_us=arrived_us)
        if promised:
            record = replace(record, promised_us=promised.until_us, word=promised.name)
        self._journal.begin(record)
        return Begun(record)

    def resume(self) -> Begun | Decided | None:
        """The tick that was interrupted, at the last stage that can be had again."""
        unfinished = self._journal.unfinished(self._stream.name)
        if unfinished is None:
            return None
        record, decision = unfinished
        # The engine finishes a cut-off tick before it changes the plan, so they agree.
        assert record.plan_version == self._plan.version
        if decision is None or not self._pieces_exist(decision):
            return Begun(record)
        return self._decided(record, self._restated(decision), Stopwatch())

    @property
    def is_interrupted(self) -> bool:
        """True if a tick has begun and has not been committed."""
        return self._journal.unfinished(self._stream.name) is not None

    def abandon_undecided(self) -> None:
        """Forget a tick that failed before its decision; its input is taken again."""
        self._journal.abandon_undecided(self._stream.name)

    def run(self, stage: Stage) -> TickReport:
        """All steps that are left."""
        after: Stage | TickReport = stage
        while not isinstance(after, TickReport):
            after = self.advance(after)
        return after

    def advance(self, stage: Stage) -> Stage | TickReport:
        """One step, or the first three."""
        match stage:
            case Begun():
                return self.fold(stage)
            case Folded():
                return self.decide(stage)
            case Decided():
                return self.answer(stage)
            case Answered():
                return self.deliver(stage)

    def fold(self, tick: Begun) -> Folded:
        return Folded(*self._folder.fold(tick.record, tick.watch), tick.watch)

    def decide(self, tick: Folded) -> Decided:
        with tick.watch.phase("decide"):
            version = _with_pieces(self.state.version, tick.report)
            finals = {name: state.final_us for name, state in self._streams.items()}
            versions = self._versions(version)
            decision = self._decider.decide(tick.record, tick.report, versions, finals)
            self._folders.failpoint.reach("decide", tick.record.number)
            self._journal.decide(tick.record, decision)
        return self._decided(tick.record, decision, tick.watch)

    def _restated(self, decision: Decision) -> Decision:
        """With the texts that expressions have now: an earlier release may have decided it."""
        relations = (synopsis.relation for synopsis in self._plan.of_stream(self._stream.key))
        types = {slot.name: slot.type for relation in relations for slot in relation.columns}
        folded, text_of = decision.folded, partial(normal_text, types=types)
        raised = {text_of(sql): n for sql, n in folded.raised.items()}
        by_signature = restated(folded.raised_by_signature, text_of)
        folded = replace(folded, raised=raised, raised_by_signature=by_signature)
        return replace(decision, folded=folded)

    def _decided(self, record: TickRecord, decision: Decision, watch: Stopwatch) -> Decided:
        version = _with_pieces(self.state.version, decision.folded)
        snapshots = self._decider.snapshots(record.times(decision.time), version)
        return Decided(record, decision, version, snapshots, watch)

    def answer(self, tick: Decided) -> Answered:
        number, due, versions = tick.record.number, tick.decision.due, self._versions(tick.version)
        with tick.watch.phase("answer"):
            results = self._answerer.answer(number, due, versions, tick.snapshots)
            rows = []
            if self._row_feeds:
                folded, before = tick.decision.folded, tick.record.times()
                times = tick.record.times(tick.decision.time)
                rows = self._row_answerer.answer(number, folded, before, times, versions)
        return Answered(tick, results, rows)

    def deliver(self, answered: Answered) -> TickReport:
        tick, results, rows = answered.tick, answered.results, answered.rows
        record, decision = tick.record, tick.decision
        with tick.watch.phase("deliver"):
            with self._deliverer.taken_back_on_failure():
                answers = self._deliverer.deliver(record, decision.folded, results, rows)
                self._deliverer.reach(record.times(decision.time))
                before, versions = self._versions(tick.version), self._versions_after(answered)
                states = self._states_after(record, decision, versions)
                queries = self._query_states(record, decision, states)
                self._commit(record, states, queries, decision.folded)
            self._handover.remove()
            self.publish()
            self._remove_pieces(before, versions)
        return _report(record, decision, answers, tick.watch)

    def deliver_joint(
        self, results: list[TaskResult], histories: Mapping[str, History], watch: Stopwatch
    ) -> TickReport:
        """Deliver what was answered beside the ticks, as a tick that takes nothing in."""
        record = self._record(None, flush=False)
        with watch.phase("deliver"):
            with self._deliverer.taken_back_on_failure():
                answers = self._deliverer.deliver(record, FoldReport(), results)
                changed = self._deliverer.query_states()
                # A run counts for its queries also if they had no answer.
                states = {
                    name: replace(changed.get(name, self._states[name]), history=history)
                    for name, history in histories.items()
                }
                state = replace(self.state, tick=record.number, turn=record.turn)
                streams = {self._stream.key: state}
                self._commit(record, streams, {**changed, **states}, FoldReport())
            self.publish()
            self._remove(())
        return _report(record, Decision(self.state.time), answers, watch)

    def publish(self) -> None:
        """After a commit the world is told; without a tick, staged answers may come of age."""
        self._deliverer.publish(self._clock.now_us())

    def _record(self, portion: Input | None, flush: bool) -> TickRecord:
        now_us, time = self._clock.now_us(), self.state.time
        return TickRecord(
            stream=self._stream.name,
            number=self.state.tick + 1,
            plan_version=self._plan.version,
            # Arrival times never go back, though the machine's clock may, and no row that is
            # stamped on arrival is late.
            batch_time_us=max(now_us, time.newest_us or now_us, time.since_us),
            time=time,
            clock_us=now_us,
            arrived_us=now_us if portion else None,
            portion=portion.to_json() if portion else None,
            names=portion.names if portion else (),
            mark=portion.mark if portion else None,
            flush=flush,
            others={name: self._streams[name].time for name in self.beside},
            turn=1 + max(self._streams[name].turn for name in (self._stream.key, *self.beside)),
        )

    def _versions(self, version: Version) -> dict[Name, Version]:
        """The store by stream, of its own this version, of others what has been committed."""
        committed = {name: self._streams[name].version for name in self.beside}
        return {**committed, self._stream.key: version}

    def _versions_after(self, answered: Answered) -> dict[Name, Version]:
        """The store after the tick: snapshots in place of pieces, nothing past its use."""
        tick, results, version = answered.tick, answered.results, answered.tick.version
        for key in tick.snapshots:
            pieces = [r.snapshot for r in results if r.synopsis_id == key and r.snapshot]
            version = version.replaced(key, pieces)
        versions, times = self._versions(version), tick.record.times(tick.decision.time)
        for key in self._decider.synopses:
            stream = source_name(self._plan.synopsis(key).relation)
            versions[stream] = versions[stream].expired(key, self._decider.horizon(key, times))
        for feed, rest in (entry for answer in answered.rows for entry in answer.rest):
            stream = source_name(feed.query.relation)
            versions[stream] = versions[stream].replaced(feed.id, rest)
        version = versions[self._stream.key].only(self._synopses | self._row_feeds)
        return {**versions, self._stream.key: version}

    def _states_after(
        self, record: TickRecord, decision: Decision, versions: Mapping[Name, Version]
    ) -> dict[Name, StreamState]:
        """The stream's own, and of others those that hold less than before.

        Its own comes first: who reads them meanwhile must not see less and yet the time before.
        """
        others = {
            name: replace(self._streams[name], version=versions[name])
            for name in self.beside
            if versions[name].pieces != self._streams[name].version.pieces
        }
        state = self._state_after(record, decision, versions[self._stream.key])
        return {self._stream.key: state, **others}

    def _state_after(self, record: TickRecord, decision: Decision, version: Version) -> StreamState:
        folded, before = decision.folded, self.state
        before.position.advance(record)
        return StreamState(
            tick=record.number,
            time=decision.time,
            position=before.position,
            version=version,
            rows_in=before.rows_in + folded.rows_in,
            rows_late=before.rows_late + folded.late,
            rows_malformed=before.rows_malformed + folded.malformed,
            rows_broken=before.rows_broken + folded.broken,
            rate=before.rate.after(folded.rows_in, folded.oldest_us, folded.newest_us),
            rows_corrected=before.rows_corrected + folded.corrected,
            final_us=self._final_after(decision),
            turn=record.turn,
        )

    def _final_after(self, decision: Decision) -> int | None:
        """It never goes back, though the stream may correct more than it did."""
        before_us, watermark_us = self.state.final_us, decision.time.watermark_us
        if watermark_us is None:
            return before_us
        final_us = self._stream.final_us(watermark_us)
        return final_us if before_us is None else max(before_us, final_us)

    def _query_states(
        self, record: TickRecord, decision: Decision, streams: Mapping[Name, StreamState]
    ) -> dict[str, QueryState]:
        """The states of the queries for which the tick has changed something."""
        changed = self._deliverer.query_states()
        if not self._remembering:
            return changed
        after = {**self._streams, **streams}
        finals = {name: state.final_us for name, state in after.items()}
        review = Review(record, decision, finals, self._deliverer.outcomes)
        revised = review.revisions_after(self._remembering, self._states, self._paused)
        for name, revisions in revised.items():
            changed[name] = replace(changed.get(name, self._states[name]), revisions=revisions)
        return changed

    def _commit(
        self,
        record: TickRecord,
        streams: Mapping[Name, StreamState],
        states: Mapping[str, QueryState],
        folded: FoldReport,
    ) -> None:
        """One transaction for time, input, pieces, counts and ledgers."""
        with self._journal.transaction():
            self._journal.commit(record, streams, states)
            self._deliverer.record()
            self._handover.record(record, folded)
        self._streams.update(streams)
        self._states.update(states)

    def _remove_pieces(self, before: Mapping[Name, Version], after: Mapping[Name, Version]) -> None:
        """Pieces that have gone from the store go from the disk, once nobody reads them."""
        self._remove(
            self._folders.synopses / key / piece.name
            for name, version in before.items()
            for key, piece in version.without(after[name])
        )

    def _pieces_exist(self, decision: Decision) -> bool:
        return all(
            (self._folders.synopses / key / piece.name).exists()
            for key, pieces in decision.folded.pieces.items()
            for piece in pieces
        )

    def _pending(self) -> set[str]:
        """Pieces that an interrupted tick has folded and will be asked for again."""
        unfinished = self._journal.unfinished(self._stream.name)
        decision = unfinished[1] if unfinished else None
        pieces = decision.folded.pieces.values() if decision else ()
        return {piece.name for folded in pieces for piece in folded}


def _with_pieces(version: Version, folded: FoldReport) -> Version:
    for key, pieces in folded.pieces.items():
        version = version.added(key, pieces)
    return version


def _report(
    record: TickRecord, decision: Decision, answers: dict[str, int], watch: Stopwatch
) -> TickReport:
    folded = decision.folded
    return TickReport(
        stream=record.stream,
        tick=record.number,
        rows_in=folded.rows_in,
        rows_late=folded.late,
        rows_corrected=folded.corrected,
        rows_malformed=folded.malformed,
        # What goes to streams of answers is rows of theirs.
        answers={name: count for name, count in answers.items() if answered_by(name) is None},
        watermark_us=decision.time.watermark_us,
        seconds=watch.total(),
        phases=watch.phases,
        skipped=record.skipped,
        route=folded.scanned_by,
    )
