"""One stream's ticks: the six steps, each replayable from what the step before wrote down."""

from __future__ import annotations

from tidemill.catalog import Catalog, Stream
from tidemill.engine.answering import Answering
from tidemill.engine.deciding import Deciding
from tidemill.engine.delivering import Delivering
from tidemill.engine.folding import Folding
from tidemill.engine.journal import StreamState
from tidemill.engine.records import Decision, TickRecord
from tidemill.engine.surroundings import Stopwatch, Surroundings, TickReport
from tidemill.share import SharedPlan
from tidemill.spark.answer import TaskResult
from tidemill.spark.fold import FoldReport
from tidemill.spark.sources import Input, Source
from tidemill.synopsis.store import Version, sweep


class StreamRunner:
    def __init__(
        self, around: Surroundings, stream: Stream, source: Source, state: StreamState
    ) -> None:
        self._around, self.stream, self._source = around, stream, source
        self.state = state
        self._synopses = around.synopses_of(stream)
        self._folding = Folding(around, stream, source)
        self._deciding = Deciding(around, stream)
        self._answering = Answering(around, stream, self._deciding)
        self._delivering = Delivering(around, stream)
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
        return self._run(*unfinished)

    def tick(self, draining: bool) -> TickReport | None:
        """Take the next input, if there is any, and run a tick over it."""
        taken = self._source.next_input(self.state.progress, self._around.settings, draining)
        return self._begin(taken, flush=False) if taken else None

    def flush(self) -> TickReport:
        """An empty tick that closes every window with rows in it."""
        return self._begin(Input(), flush=True)

    def idle(self) -> None:
        """Nothing to take: staged answers may still have come of age."""
        self._delivering.publish()

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
        now_us = self._around.clock.now_us()
        record = TickRecord(
            stream=self.stream.name,
            number=self.state.tick + 1,
            plan_version=self._around.plan.version,
            # Arrival times never go back, though the machine's clock may.
            batch_time_us=max(now_us, self.state.time.newest_us or now_us),
            time=self.state.time,
            taken=taken,
            flush=flush,
        )
        self._around.journal.begin(record)
        return self._run(record, None)

    def _run(self, record: TickRecord, decision: Decision | None) -> TickReport:
        """Steps 1 to 6; a replay goes on from the decision, if what it names is there."""
        watch = Stopwatch()
        if decision is None or not self._pieces_exist(decision):
            record, folded = self._folding.run(record, watch)
            with watch.phase("decide"):
                decision = self._decide(record, folded)
        version = _with_pieces(self.state.version, decision.folded)
        with watch.phase("answer"):
            results = self._answering.run(record, decision, version)
        with watch.phase("deliver"):
            answers = self._delivering.run(record, decision.folded, results)
            self._commit(record, decision, self._kept(decision, version, results))
            self._delivering.publish()
            self._unlink(version)
        return self._report(record, decision, answers, watch)

    def _decide(self, record: TickRecord, folded: FoldReport) -> Decision:
        version = _with_pieces(self.state.version, folded)
        decision = self._deciding.decide(record, folded, version)
        self._around.failpoint.reach("decide", record.number)
        self._around.journal.decide(record, decision)
        return decision

    def _kept(self, decision: Decision, version: Version, results: list[TaskResult]) -> Version:
        """The store after the tick: snapshots in place of pieces, nothing past its use."""
        kept = version
        for key, synopsis in self._synopses.items():
            if self._deciding.compacts(synopsis, decision, version):
                snapshots = [r.snapshot for r in results if r.synopsis_id == key and r.snapshot]
                kept = kept.replaced(key, snapshots)
            kept = kept.expired(key, self._deciding.horizon(synopsis, decision))
        return kept.only(self._synopses)

    def _commit(self, record: TickRecord, decision: Decision, kept: Version) -> None:
        """One transaction for time, input, pieces, counts and ledgers."""
        counted, before = decision.folded, self.state
        before.progress.take(record.taken)
        before.progress.files.update(record.skipped)
        self.state = StreamState(
            tick=record.number,
            time=decision.time,
            progress=before.progress,
            version=kept,
            rows_in=before.rows_in + counted.rows_in,
            rows_late=before.rows_late + counted.late,
            rows_malformed=before.rows_malformed + counted.malformed,
        )
        queries = self._delivering.query_states()
        with self._around.journal.transaction():
            self._around.journal.commit(record, self.state, queries)
            for writer in self._delivering.writers():
                writer.record()
        self._around.queries.update(queries)

    def _unlink(self, before: Version) -> None:
        kept = {p.name for pieces in self.state.version.pieces.values() for p in pieces}
        for key, pieces in before.pieces.items():
            for piece in pieces:
                if piece.name not in kept:
                    (self._around.home.synopses / key / piece.name).unlink(missing_ok=True)

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
