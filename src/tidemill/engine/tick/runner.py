"""One stream's ticks: the six steps, each replayable from what the step before wrote down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tidemill.answer.task import TaskResult
from tidemill.catalog import Catalog, Stream
from tidemill.engine.beside import Agenda, Once, Wanted
from tidemill.engine.beside.pins import Pins
from tidemill.engine.beside.runs import Found
from tidemill.engine.tick.answer import Answerer
from tidemill.engine.tick.context import Stopwatch, Surroundings, TickReport
from tidemill.engine.tick.decide import Deciding
from tidemill.engine.tick.deliver import Deliverer
from tidemill.engine.tick.fold import Folding
from tidemill.engine.tick.journal import QueryState, StreamState
from tidemill.engine.tick.record import Decision, TickRecord
from tidemill.scan.contract import FoldReport
from tidemill.schedule import History
from tidemill.share import SharedPlan
from tidemill.spark.sources import Input, Source
from tidemill.state.pieces import Piece
from tidemill.state.store import Version, sweep


class StreamRunner:
    def __init__(
        self, around: Surroundings, stream: Stream, source: Source, state: StreamState
    ) -> None:
        self._around, self.stream, self._source = around, stream, source
        self.state = state
        self._synopses = around.synopses_of(stream)
        self._folding = Folding(around, stream, source)
        self._deciding = Deciding(around, stream)
        self._answerer = Answerer(around, stream)
        self._soft_answerer = Answerer(around, stream, of_soft=True)
        self._deliverer = Deliverer(around, stream)
        self._agenda = Agenda(around, stream, state)
        self._pins = Pins()
        sweep(around.home.synopses, self.state.version, set(self._synopses), self._pending())

    def follows(self, plan: SharedPlan, catalog: Catalog) -> bool:
        """Whether the runner was made for this plan, these settings and these pauses."""
        around = self._around
        return (around.plan, around.settings, around.paused) == (
            plan,
            catalog.settings,
            catalog.paused,
        )

    def recover(self) -> TickReport | None:
        """Run the tick that a crash interrupted, if there is one."""
        unfinished = self._around.journal.unfinished(self.stream.name)
        if unfinished is None:
            return None
        # The engine finishes a cut-off tick before it changes the plan, so they agree.
        assert unfinished[0].plan_version == self._around.plan.version
        self._agenda.carry_on(unfinished[0].carried)
        return self._run(*unfinished)

    def tick(self, draining: bool) -> TickReport | None:
        """Take the next input, if there is any, and run a tick over it."""
        taken = self._source.next_input(self.state.progress, self._around.settings, draining)
        return self._begin(taken, flush=False) if taken else None

    def flush(self) -> TickReport:
        """An empty tick that closes every window with rows in it."""
        return self._begin(Input(), flush=True)

    def has_soft(self) -> bool:
        """Whether soft queries are due, or a SELECT waits."""
        return self._agenda.is_due(self.state)

    def next_soft(self) -> Wanted | Once | None:
        """What is due first, if anything; what it reads is kept until it has ended."""
        return self._pins.pin(lambda: self._agenda.next(self.state))

    def answer_soft(self, wanted: Wanted) -> list[TaskResult]:
        results = self._soft_answerer.answer(self.state.tick, wanted.due, wanted.version)
        self._agenda.answered(wanted)
        return results

    def select(self, once: Once) -> None:
        """A SELECT is answered on the spot; it has no tick, and nothing to deliver."""
        around = self._around
        once.selected.answer(lambda query: around.selecting.run(query, around.plan, once.state))
        self._pins.unpin(once)
        self._pins.drop(())

    def end_soft(self, found: Found) -> TickReport:
        """Deliver what a joint run has found, as a tick that takes nothing in."""
        watch = Stopwatch()
        watch.add("soft", found.seconds)
        self._pins.unpin(found.wanted)
        record = self._record(Input(), flush=False)
        with watch.phase("deliver"):
            answers = self._deliverer.deliver(record.number, FoldReport(), found.results)
            histories = self._agenda.histories(found.wanted, self._around.clock.now_us())
            state = replace(self.state, tick=record.number)
            self._commit(record, state, self._with_histories(histories))
            self._deliverer.publish()
            self._unlink(())
        return self._report(record, Decision(self.state.time), answers, watch)

    def idle(self) -> None:
        """Nothing to take: staged answers may still have come of age."""
        self._deliverer.publish()

    def is_done(self) -> bool:
        return self._source.is_done(self.state.progress)

    def describe(self) -> dict[str, object]:
        """Where the stream stands, for metrics."""
        folder = self._around.home.stream_folder(self.stream.name)
        return {
            "tick": self.state.tick,
            "watermark_us": self.state.time.watermark_us,
            "rows_in": self.state.rows_in,
            "rows_late": self.state.rows_late,
            "rows_malformed": self.state.rows_malformed,
            "late": str(folder / "late"),
            "malformed": str(folder / "malformed"),
            "state_rows": self.state.version.rows,
            "state_bytes": self.state.version.size,
        }

    def _begin(self, taken: Input, flush: bool) -> TickReport:
        record = self._record(taken, flush)
        self._around.journal.begin(record)
        return self._run(record, None)

    def _record(self, taken: Input, flush: bool) -> TickRecord:
        now_us = self._around.clock.now_us()
        return TickRecord(
            stream=self.stream.name,
            number=self.state.tick + 1,
            plan_version=self._around.plan.version,
            # Arrival times never go back, though the machine's clock may.
            batch_time_us=max(now_us, self.state.time.newest_us or now_us),
            time=self.state.time,
            taken=taken,
            flush=flush,
            carried=self._pins.names,
        )

    def _run(self, record: TickRecord, decision: Decision | None) -> TickReport:
        """Steps 1 to 6; a replay goes on from the decision, if what it names is there."""
        watch = Stopwatch()
        if decision is None or not self._pieces_exist(decision):
            record, folded = self._folding.run(record, watch)
            with watch.phase("decide"):
                decision = self._decide(record, folded)
        version = _with_pieces(self.state.version, decision.folded)
        snapshots = self._deciding.snapshots(decision, version)
        with watch.phase("answer"):
            results = self._answerer.answer(record.number, decision.due, version, snapshots)
        with watch.phase("deliver"):
            answers = self._deliverer.deliver(record.number, decision.folded, results)
            kept = self._kept(decision, version, snapshots, results)
            after = self._after(record, decision, kept)
            self._commit(record, after, self._deliverer.query_states())
            self._deliverer.publish()
            self._unlink(version.pieces.items())
        self._agenda.ticked(record.time, self.state.time, record.flush)
        return self._report(record, decision, answers, watch)

    def _decide(self, record: TickRecord, folded: FoldReport) -> Decision:
        version = _with_pieces(self.state.version, folded)
        decision = self._deciding.decide(record, folded, version)
        self._around.failpoint.reach("decide", record.number)
        self._around.journal.decide(record, decision)
        return decision

    def _kept(
        self,
        decision: Decision,
        version: Version,
        snapshots: Mapping[str, int],
        results: list[TaskResult],
    ) -> Version:
        """The store after the tick: snapshots in place of pieces, nothing past its use."""
        kept = version
        for key in self._synopses:
            if key in snapshots:
                found = [r.snapshot for r in results if r.synopsis_id == key and r.snapshot]
                kept = kept.replaced(key, found)
            kept = kept.expired(key, self._deciding.horizon(key, decision))
        return kept.only(self._synopses)

    def _after(self, record: TickRecord, decision: Decision, kept: Version) -> StreamState:
        counted, before = decision.folded, self.state
        before.progress.take(record.taken)
        before.progress.files.update(record.skipped)
        return StreamState(
            tick=record.number,
            time=decision.time,
            progress=before.progress,
            version=kept,
            rows_in=before.rows_in + counted.rows_in,
            rows_late=before.rows_late + counted.late,
            rows_malformed=before.rows_malformed + counted.malformed,
        )

    def _commit(
        self, record: TickRecord, state: StreamState, queries: Mapping[str, QueryState]
    ) -> None:
        """One transaction for time, input, pieces, counts and ledgers."""
        with self._around.journal.transaction():
            self._around.journal.commit(record, state, queries)
            for writer in self._deliverer.writers():
                writer.record()
        self.state = state
        self._around.queries.update(queries)

    def _with_histories(self, histories: Mapping[str, History]) -> dict[str, QueryState]:
        """What the delivery has changed, and the runs of queries that may have had no answer."""
        changed, standing = self._deliverer.query_states(), self._around.queries
        soft = {
            name: replace(changed.get(name, standing[name]), history=history)
            for name, history in histories.items()
        }
        return {**changed, **soft}

    def _unlink(self, before: Iterable[tuple[str, tuple[Piece, ...]]]) -> None:
        """What has gone from the store goes from the disk, once nobody reads it."""
        kept = {p.name for pieces in self.state.version.pieces.values() for p in pieces}
        root = self._around.home.synopses
        gone = (root / key / p.name for key, pieces in before for p in pieces if p.name not in kept)
        self._pins.drop(gone)

    def _pieces_exist(self, decision: Decision) -> bool:
        root = self._around.home.synopses
        return all(
            (root / key / piece.name).exists()
            for key, pieces in decision.folded.pieces.items()
            for piece in pieces
        )

    def _pending(self) -> set[str]:
        """Pieces that an interrupted tick has folded and will be asked for again."""
        unfinished = self._around.journal.unfinished(self.stream.name)
        decision = unfinished[1] if unfinished else None
        folded = decision.folded.pieces.values() if decision else ()
        return {piece.name for pieces in folded for piece in pieces}

    def _report(
        self, record: TickRecord, decision: Decision, answers: dict[str, int], watch: Stopwatch
    ) -> TickReport:
        counted = decision.folded
        return TickReport(
            stream=self.stream.name,
            tick=record.number,
            rows_in=counted.rows_in,
            rows_late=counted.late,
            rows_malformed=counted.malformed,
            answers=answers,
            watermark_us=decision.time.watermark_us,
            seconds=watch.total(),
            phases=watch.phases,
            skipped=record.skipped,
            route=counted.route,
        )


def _with_pieces(version: Version, folded: FoldReport) -> Version:
    for key, pieces in folded.pieces.items():
        version = version.added(key, pieces)
    return version
