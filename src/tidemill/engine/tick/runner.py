"""One stream under way: its ticks, and what is answered beside them."""

from __future__ import annotations

from dataclasses import asdict

from tidemill.answer.task import TaskResult
from tidemill.catalog import Catalog, Stream
from tidemill.clock import Stopwatch
from tidemill.connect.sources import AnySource, Input
from tidemill.engine.beside.agenda import Agenda, JointRun, OneTimeRun
from tidemill.engine.beside.runs import AnsweredRun
from tidemill.engine.tick.answer import Answerer
from tidemill.engine.tick.context import TickContext
from tidemill.engine.tick.fold import ScanFolder
from tidemill.engine.tick.journal import StreamState
from tidemill.engine.tick.machine import Begun, Decided, TickMachine
from tidemill.engine.tick.promises import PromiseMaker
from tidemill.engine.tick.report import NO_LOOK, Look, TickReport
from tidemill.language.names import Name
from tidemill.share import SharedPlan
from tidemill.time import Promise


class StreamRunner:
    def __init__(
        self,
        context: TickContext,
        stream: Stream,
        source: AnySource,
        before: StreamRunner | None = None,
    ) -> None:
        """In the place of the one `before`, if there was one."""
        self._context, self.stream, self._source = context, stream, source
        self._pins = context.pins
        self._look: Look = before._look if before else NO_LOOK
        self._machine = TickMachine(
            stream,
            context.streams,
            ScanFolder(context.fold, stream, source),
            context.decide,
            context.answer,
            context.journal,
            context.clock,
            self._pins.drop,
        )
        queries = context.answer.queries_of(stream)
        self._promises = PromiseMaker(context, stream, source)
        ahead = before.ahead if before else 0
        self._agenda = Agenda(context.agenda, stream, queries, self.state, ahead)
        self._soft_answerer = Answerer(context.answer, stream, of_soft=True)

    @property
    def state(self) -> StreamState:
        return self._machine.state

    @property
    def beside(self) -> tuple[Name, ...]:
        """The streams whose rows are put together with those of this one."""
        return self._machine.beside

    @property
    def ahead(self) -> int:
        """What a runner in this one's place has to know of the last tick."""
        return self._agenda.ahead

    @property
    def look(self) -> Look:
        """What was met when the source was looked at last."""
        return self._look.at(self._source, self.state.position)

    def follows(self, plan: SharedPlan, catalog: Catalog) -> bool:
        """True if the runner was made for this plan, these settings and these pauses."""
        context = self._context
        made_for = context.plan, context.settings, context.paused
        return made_for == (plan, catalog.settings, catalog.paused)

    def recover(self) -> TickReport | None:
        """Run the tick that a crash interrupted, if there is one."""
        stage = self._machine.resume()
        if stage is None:
            return None
        self._agenda.carry_on(stage.record.carried)
        return self._run(stage)

    def tick(self, draining: bool) -> TickReport | None:
        """Take the next input, if there is any, and run a tick over it.

        Without any the source may have a promise to make. An operator's goes before all input.
        """
        if (word := self._promises.of_operator(self.state.time)) is not None:
            return self._begin(None, word)
        before, settings = self._look, self._context.settings
        # A row that comes after the look is no older than this, if it follows the clock.
        now_us = self._context.clock.now_us()
        portion = self._source.next_input(self.state.position, settings, draining)
        is_any = portion is not None
        self._look = Look(is_any, now_us if is_any else before.input_us)
        if portion is not None:
            is_fresh = not (draining or before.has_input or before.input_us is None)
            return self._begin(portion, self._promises.with_input(portion), is_fresh)
        promised = self._promises.alone(self.state, self._promise_clock_us(now_us, draining))
        return self._begin(None, promised) if promised else None

    def flush(self) -> TickReport:
        """An empty tick that closes every window with rows in it."""
        return self._begin(None, None, flush=True)

    def has_soft(self) -> bool:
        """True if soft queries are due, or a SELECT waits."""
        return self._agenda.is_due(self.state)

    def next_soft(self) -> JointRun | OneTimeRun | None:
        """The run that is due first, if any; the pieces it reads stay until it has ended."""
        return self._pins.pin(lambda: self._agenda.next(self._context.streams))

    def answer_soft(self, run: JointRun) -> list[TaskResult]:
        results = self._soft_answerer.answer(self.state.tick, run.due, run.versions)
        self._agenda.note_answered(run)
        return results

    def select(self, run: OneTimeRun) -> None:
        """A SELECT is answered on the spot; it has no tick, and nothing to deliver."""
        context = self._context
        run.selected.answer(lambda query: context.one_time.answer(query, context.plan, run.streams))
        self._pins.unpin(run)
        self._pins.drop(())

    def end_soft(self, answered: AnsweredRun) -> TickReport:
        """Deliver the answers of a joint run, as a tick that takes nothing in."""
        watch = Stopwatch()
        watch.add("soft", answered.seconds)
        self._pins.unpin(answered.run)
        now_us = self._context.clock.now_us()
        histories = self._agenda.histories(answered.run, self.state.time, now_us)
        return self._machine.deliver_joint(answered.results, histories, watch)

    def idle(self) -> None:
        """Nothing to take: staged answers may still have come of age."""
        self._machine.publish()

    def is_done(self) -> bool:
        return self._source.is_done(self.state.position)

    @property
    def is_interrupted(self) -> bool:
        """True if a tick was cut off and must be finished under the plan that stands."""
        return self._machine.is_interrupted

    def go_on(self) -> bool:
        """Called when nobody had anything to do: True if the source may have more at once."""
        return self._source.go_on()

    def rest(self) -> None:
        """After a failure: a tick that has decided nothing is not to hold up other streams."""
        self._machine.abandon_undecided()
        self._source.rest()

    def describe(self) -> dict[str, object]:
        """The stream's position and totals, for metrics."""
        state, folder = self.state, self._context.home.stream_folder(self.stream.name)
        return {
            "tick": state.tick,
            "watermark_us": state.time.watermark_us,
            "register": asdict(state.time),
            "rows_in": state.rows_in,
            "rows_late": state.rows_late,
            "rows_corrected": state.rows_corrected,
            "rows_broken": state.rows_broken,
            "rows_malformed": state.rows_malformed,
            "late": str(folder / "late"),
            "malformed": str(folder / "malformed"),
            "state_rows": state.version.rows,
            "state_bytes": state.version.size,
        }

    def _begin(
        self,
        portion: Input | None,
        promised: Promise | None,
        is_fresh: bool = False,
        flush: bool = False,
    ) -> TickReport:
        carried = self._agenda.among(self._pins.names)
        arrived_us = self._source.arrived_us(portion) if portion else None
        is_fresh |= arrived_us is not None
        return self._run(
            self._machine.begin(portion, flush, carried, promised, arrived_us, is_fresh)
        )

    def _promise_clock_us(self, now_us: int, draining: bool) -> int | None:
        """The clock that promises go by; the machine's has no say in what files are to tell."""
        own_us = self._source.now_us()
        return own_us if own_us is not None or draining else now_us

    def _run(self, stage: Begun | Decided) -> TickReport:
        before, is_flush = stage.record.time, stage.record.flush
        report = self._machine.run(stage)
        self._agenda.note_tick(before, self.state.time, is_flush)
        return report
