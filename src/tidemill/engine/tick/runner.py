"""One stream under way: its ticks, and what is answered beside them."""

from __future__ import annotations

from dataclasses import asdict, replace

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
from tidemill.engine.waits.held import Hold, hold_of
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
        self.hold: Hold | None = None  # why the input that was there has not been taken
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
        self._promises = PromiseMaker(context, stream, source)
        # A tick may bring updates of all of these; their runs are made by the first source's.
        self.agendas = [agenda for agenda in context.agendas if stream.key in agenda.sources]
        self._turns = [agenda for agenda in self.agendas if agenda.sources[0] == stream.key]
        self._soft_answerer = Answerer(context.answer, stream, of_soft=True)

    @property
    def state(self) -> StreamState:
        return self._machine.state

    @property
    def beside(self) -> tuple[Name, ...]:
        """The streams whose rows are put together with those of this one."""
        return self._machine.beside

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
        for agenda in self.agendas:
            agenda.carry_on(stage.record.carried)
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
        self.hold = self._hold() if portion is not None else None
        if self.hold is not None:
            self._look = replace(before, held_by=self.hold.laggard)
            return None
        is_any = portion is not None
        self._look = Look(is_any, now_us if is_any else before.input_us)
        if portion is not None:
            is_fresh = not (draining or before.has_input or before.input_us is None)
            return self._begin(portion, self._promises.with_input(portion), is_fresh)
        promised = self._promises.alone(self.state, self._promise_clock_us(now_us, draining))
        return self._begin(None, promised) if promised else None

    def _hold(self) -> Hold | None:
        """Whom the stream waits for, if too much of it is held to take more."""
        most_bytes = self._context.settings.held_bytes
        return hold_of(self.stream.key, self.beside, self._context.streams, most_bytes)

    def flush(self) -> TickReport:
        """An empty tick that closes every window with rows in it."""
        return self._begin(None, None, flush=True)

    def has_soft(self) -> bool:
        """True if soft queries are due, or a SELECT waits."""
        return any(agenda.is_due(self._context.streams) for agenda in self._turns)

    def next_soft(self) -> JointRun | OneTimeRun | None:
        """The run that is due first, if any; the pieces it reads stay until it has ended."""
        return self._pins.pin(self._next_run)

    def answer_soft(self, run: JointRun) -> list[TaskResult]:
        results = self._soft_answerer.answer(self.state.tick, run.due, run.versions)
        self._agenda_of(run).note_answered(run)
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
        agenda = self._agenda_of(answered.run)
        histories = agenda.histories(answered.run, self._context.streams, now_us)
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
        under_way = self._pins.names
        carried = tuple(name for agenda in self.agendas for name in agenda.among(under_way))
        arrived_us = self._source.arrived_us(portion) if portion else None
        is_fresh |= arrived_us is not None
        return self._run(
            self._machine.begin(portion, flush, carried, promised, arrived_us, is_fresh)
        )

    def _promise_clock_us(self, now_us: int, draining: bool) -> int | None:
        """The clock that promises go by; the machine's has no say in what files are to tell."""
        own_us = self._source.now_us()
        return own_us if own_us is not None or draining else now_us

    def _next_run(self) -> JointRun | OneTimeRun | None:
        """Agendas that have something due take turns."""
        for agenda in self._turns:
            if (run := agenda.next(self._context.streams)) is not None:
                self._turns = [*(other for other in self._turns if other != agenda), agenda]
                return run
        return None

    def _agenda_of(self, run: JointRun) -> Agenda:
        return next(agenda for agenda in self.agendas if agenda.sources == run.sources)

    def _run(self, stage: Begun | Decided) -> TickReport:
        record = stage.record
        report = self._machine.run(stage)
        for agenda in self.agendas:
            agenda.note_tick(record.times(), record.times(self.state.time), record.flush)
        return report
