"""The engine: register statements, run streams, hand out answers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pyarrow as pa

from tidemill.catalog import Catalog, Stream
from tidemill.catalog.addresses import HANDED
from tidemill.clock import Clock, SystemClock
from tidemill.compiling import told_of_compiling
from tidemill.connect.handovers import HandoverLedger, NoHandovers
from tidemill.connect.sinks import Printer, SinkWriter
from tidemill.connect.sinks.console import print_frame
from tidemill.connect.sources import AnySource, Extent, Files, SourceTools, open_source
from tidemill.connect.sources.parts import measure_by_footers
from tidemill.connect.sources.recordings import RecordedClock
from tidemill.engine.assembly import Assembly
from tidemill.engine.beside.one_time import OneTimeAnswerer, refuse_changed, windows_held
from tidemill.engine.beside.runs import SoftRuns
from tidemill.engine.beside.selects import WaitingSelects
from tidemill.engine.home import Home
from tidemill.engine.pending import PendingReply, Writer, all_replies, word_now
from tidemill.engine.query import Query
from tidemill.engine.register.aggregates import statement_of
from tidemill.engine.register.bind import Binder
from tidemill.engine.register.plan import Planner
from tidemill.engine.register.registry import Registry, keep_learned, stream_state
from tidemill.engine.register.script import Notice, ReadStatement, apply_script
from tidemill.engine.register.tables import JoinedTables
from tidemill.engine.register.turns import RateTurns
from tidemill.engine.register.upkeep import Upkeep, oversized
from tidemill.engine.requests import RequestQueue, serving
from tidemill.engine.run import Listener, RunLoop, RunReport, describe_run, long_lived_objects
from tidemill.engine.show import reply_to
from tidemill.engine.subscribers import Subscribers
from tidemill.engine.tick.journal import QueryState, StreamState
from tidemill.engine.tick.outlets import Outlets
from tidemill.engine.tick.report import Look
from tidemill.engine.tick.runner import StreamRunner
from tidemill.engine.waits.looks import look_from_outside
from tidemill.errors import refuse
from tidemill.explain.plan import explain_plan
from tidemill.explain.replies import Explanation, Reply
from tidemill.language import render
from tidemill.language.names import Name
from tidemill.language.statements import RunSelect
from tidemill.memory import keep_freed_memory, without_collections
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_names
from tidemill.plan.row_query import AnyQuery
from tidemill.share import SharedPlan
from tidemill.spark.on_demand import SparkOnDemand
from tidemill.spark.readers import measure_files
from tidemill.spark.session import Session

AnswerSelect = Callable[[QueryPlan, Catalog], PendingReply]


class Engine(AbstractContextManager["Engine"]):
    """Standing queries over streams, on Spark.

    A home keeps catalog, state and ledgers between runs. Answers of queries without INTO
    are held in memory, or printed when `default_sink` is "console". With `to_run`, statements
    of other processes wait for the run that is to come; else they are refused until it has.
    `notice` is told what long work is under way.
    """

    def __init__(
        self,
        home: str | os.PathLike[str],
        master: str | None = None,
        clock: Clock | None = None,
        default_sink: str = "memory",
        printer: Printer | None = None,
        to_run: bool = False,
        notice: Notice | None = None,
    ) -> None:
        self.home = Home(Path(home), to_run)
        self._clock = clock or SystemClock()
        self._notice: Notice = notice or (lambda _: None)
        self._stop = threading.Event()
        self._spark = SparkOnDemand(master, self._notice)
        self._recorded = RecordedClock()
        self._subscribers = Subscribers()
        self._requests = RequestQueue()
        # While nothing runs, any thread may carry out its statements, one at a time.
        self._lock = threading.RLock()
        tables = JoinedTables(self.home.tables, self._spark)
        self._registry = Registry(
            home=self.home,
            outlets=Outlets(self.home, default_sink, printer or print_frame),
            tables=tables,
            binder=Binder(tables, self._spark),
            planner=Planner(
                partial(stream_state, self.home),
                self._open_source,
                self._spark,
                partial(keep_learned, self.home),
            ),
            notice=self._notice,
        )
        self._one_time = OneTimeAnswerer(self._spark, self.home)
        self._selects = WaitingSelects()
        self._assembly = Assembly(
            registry=self._registry,
            spark=self._spark,
            clock=self._clock,
            subscribers=self._subscribers,
            selects=self._selects,
            one_time=self._one_time,
            recorded=self._recorded,
        )
        # There is one of each while streams run.
        self._run: RunLoop | None = None
        self._soft: SoftRuns | None = None
        self._writer: Writer | None = None
        self.home.hold()
        try:
            if self.home.exists:
                with without_collections():
                    self._registry.load()
        except BaseException:
            self.close()
            raise

    @property
    def catalog(self) -> Catalog:
        return self._registry.catalog

    @property
    def plan(self) -> SharedPlan:
        return self._registry.plan

    @property
    def queries(self) -> dict[str, QueryState]:
        return self._registry.queries

    def sql(self, text: str, base: str | os.PathLike[str] = ".") -> list[str]:
        """Run a script's statements; all of them take effect or none. Returns the replies.

        Relative paths in it are relative to `base`. While another thread runs the streams,
        the statements take effect between two of its ticks.
        """
        return [str(reply) for reply in self.ask(text, base)]

    def ask(self, text: str, base: str | os.PathLike[str] = ".") -> list[Reply]:
        """The same as `sql`, with replies for programs: tables of typed columns, plans, answers."""
        replies = self._requests.ask(text, base)
        return self._sql_now(text, os.fspath(base)) if replies is None else replies

    def register(self, cls: type, or_replace: bool = False) -> list[str]:
        """Make an aggregate of a class that `tidemill.aggregate` has marked.

        What is kept, and run by workers, is the text of the file that defines it.
        """
        return self.sql(render(statement_of(cls, or_replace)))

    def explain(self, text: str, base: str | os.PathLike[str] = ".") -> list[str]:
        """The replies of a script's questions; nothing is registered."""
        self._registry.tables.begin()
        catalog, replies = self._apply(text, Path(base).absolute(), _explain)
        queries = (self._registry.bind(query, catalog) for query in catalog.standing())
        streams = dict.fromkeys(n for query in queries for n in source_names(query.relation))
        self._registry.check_sources(catalog, streams, text)
        return [str(reply) for reply in all_replies(replies).result()]

    def drawing(self, text: str = "", base: str | os.PathLike[str] = ".") -> str:
        """The shared plan with a script's queries too, as SVG; nothing is registered."""
        folder = Path(base).absolute()
        catalog, _ = self._apply(text, folder, _explain)
        return self._registry.explainer(catalog).drawing()

    def run(self, until: str = "idle", listener: Listener | None = None) -> RunReport:
        """Run the streams: until "idle" (all input taken), "flush" (and every window closed)
        or "stopped" (for ever, until `stop`)."""
        if until not in ("idle", "flush", "stopped"):
            refuse("E_RUN", f"no way to run until '{until}'", hint="idle, flush or stopped")
        self._stop.clear()
        keep_freed_memory()
        poll_seconds = self.catalog.settings.poll_ms / 1000
        with (
            serving(self.home, self._requests, self._sql_beside) as serve,
            long_lived_objects(),
            told_of_compiling(self._notice),
        ):
            turns = RateTurns(self._registry.planner)
            upkeep = Upkeep(turns)
            runners, between = self._assembly.runners(), partial(self._between, serve, upkeep)
            self._notice("taking the first input")
            run = RunLoop(
                runners, between, self._clock, poll_seconds, self._stop, listener, self._notice
            )
            self._run, self._soft, self._writer = run, run.soft, Writer()
            try:
                run.go(until)
                if turns.are_under_way and not self._stop.is_set():
                    self._take_care(upkeep, run.runners, wait=True)
            finally:
                turns.close()
                self._writer.close()
                self._run = self._soft = self._writer = None
                run.soft.close()
                run.report.subscriber_errors = self._subscribers.finish(partial(self._serve, serve))
                self._selects.settle(self._select)
                self._registry.outlets.close(self.plan)
        describe_run(run.report, run.runners, self.plan, self.queries)
        run.report.stopped = {str(query): reason for query, reason in self.catalog.stopped.items()}
        return run.report

    def stop(self) -> None:
        """Ask a run to finish its tick and return; safe from a signal handler or thread."""
        self._stop.set()

    def query(self, name: str) -> Query:
        return Query(self, self.catalog.query(name).name)

    def subscribe(self, query: str, callback: Callable[[pa.Table], None]) -> None:
        self._subscribers.add(query, callback)

    def sink_of(self, query: str) -> SinkWriter:
        return self._registry.outlets.of_query(query, self.catalog)

    def plan_of(self, query: str) -> AnyQuery:
        """The plan of a query, also of one that has been stopped."""
        return self._registry.bind(self.catalog.query(query), self.catalog)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.home.close()

    @property
    def session(self) -> Session:
        """Started when first needed: a wrong script should not have to wait for it."""
        return self._spark()

    # Registration

    def _sql_now(self, text: str, base: str) -> list[Reply]:
        with self._lock:
            return all_replies(self._sql(text, base, self._select_now)).result()

    def _sql_beside(self, text: str, base: str) -> list[PendingReply]:
        """Of other threads and processes: their SELECTs wait for their turn beside the ticks."""
        return self._sql(text, base, self._select_beside if self._soft else self._select_now)

    @without_collections()
    def _sql(self, text: str, base: str, answer: AnswerSelect) -> list[PendingReply]:
        self._registry.tables.begin()
        catalog, replies = self._apply(text, Path(base).absolute(), answer)
        if catalog != self.catalog:
            return [*self._settled(replies), *self._adopt(catalog, text)]
        return replies

    def _settled(self, pending: list[PendingReply]) -> list[PendingReply]:
        """Before anything takes effect: a SELECT that fails is a bad statement, too.

        What is still to be worded is decided already.
        """
        coming = [reply for reply in pending if isinstance(reply, Future)]
        if not all(reply.done() for reply in coming):
            self._finish_beside()
        for reply in coming:
            if reply.done():
                reply.result()
        return pending

    def _apply(
        self, text: str, folder: Path, answer: AnswerSelect
    ) -> tuple[Catalog, list[PendingReply]]:
        respond = partial(self._respond, answer)
        return apply_script(text, folder, self.catalog, self._registry, respond, self._notice)

    def _respond(
        self, answer: AnswerSelect, statement: ReadStatement | RunSelect, catalog: Catalog
    ) -> PendingReply:
        if isinstance(statement, RunSelect):
            return answer(self._registry.bind_once(statement, catalog), catalog)
        explainer = self._registry.explainer(catalog)
        write = self._writer or word_now
        return reply_to(statement, explainer, self.queries, write, self._look_at)

    def _look_at(self, stream: Stream, state: StreamState) -> Look:
        looks = self._run.looks() if self._run else {}
        return looks.get(stream.key) or look_from_outside(stream, state, self._clock)

    def _select(self, query: QueryPlan) -> Reply:
        """The answer now, from what is held."""
        return self._one_time.answer(query, self.plan, self._states_of(query))

    def _states_of(self, query: QueryPlan) -> dict[Name, StreamState]:
        """The sources of a query after their last ticks."""
        return {name: stream_state(self.home, name) for name in source_names(query.relation)}

    def _select_now(self, query: QueryPlan, catalog: Catalog) -> Reply:
        refuse_changed(query, self.catalog, catalog)
        return self._select(query)

    def _select_beside(self, query: QueryPlan, catalog: Catalog) -> PendingReply:
        """The answer when its turn has come; what is not held is refused at once."""
        refuse_changed(query, self.catalog, catalog)
        states = self._states_of(query)
        windows_held(query, self.plan, states)
        # It waits in the queue of the first source.
        stream, state = next(iter(states.items()))
        update_us = self.catalog.stream(stream).update_us
        return self._selects.ask(query, state.time.updates(update_us) or 0)

    def _adopt(self, catalog: Catalog, text: str) -> list[Reply]:
        return [*self._registry.adopt(catalog, text, self._finish_under_way)]

    def _finish_under_way(self) -> None:
        self._finish_beside()
        self._assembly.finish_interrupted()

    def _finish_beside(self) -> None:
        """Before the plan changes: what is answered beside the ticks, or waits, belongs to it."""
        if self._soft:
            self._soft.finish()
            self._selects.settle(self._select)

    # Running

    def _between(
        self, serve: Callable[[], None], upkeep: Upkeep, runners: list[StreamRunner]
    ) -> list[StreamRunner]:
        """Between ticks: statements, then the plan; who does not run by it any more is replaced."""
        serve()
        self._take_care(upkeep, runners)
        self._stop_oversized(runners)
        # A listener may have changed the plan too, so it is not asked what was served.
        current = [r for r in runners if r.follows(self.plan, self.catalog)]
        streams = self._registry.registered.streams()
        return runners if len(current) == len(streams) else self._assembly.runners(runners)

    def _take_care(
        self, upkeep: Upkeep, runners: Sequence[StreamRunner], wait: bool = False
    ) -> None:
        plan = upkeep.plan_after(self.plan, runners, self.catalog, wait)
        # A stream that rests after a failure may have a tick to finish under this plan.
        if plan is not self.plan and not any(runner.is_interrupted for runner in runners):
            self._finish_beside()
            self._registry.replace_plan(plan)

    def _serve(self, serve: Callable[[], None]) -> None:
        """After the last tick: statements, and the SELECTs among them, which wait for no run."""
        serve()
        self._selects.settle(self._select)

    def _stop_oversized(self, runners: Sequence[StreamRunner]) -> None:
        """Stop queries whose counted values take more memory than the setting allows, and those
        that a tick was to make too many rows of."""
        states = {runner.stream.key: runner.state for runner in runners}
        limit_bytes = self.catalog.settings.value_memory
        problems = oversized(self.plan, states, self.home.synopses, limit_bytes)
        reasons = {query: problem.render() for query, problem in problems.items()}
        reasons |= {
            query: state.stop
            for query, state in self.queries.items()
            if state.stop and not self.catalog.is_stopped(query)
        }
        if not reasons:
            return
        for reason in reasons.values():
            self._notice(reason.splitlines()[0])
        self._registry.tables.begin()
        self._adopt(self.catalog.stopping(reasons), "")

    def _open_source(self, stream: Stream) -> AnySource:
        def measure(files: Files, time_column: str) -> Mapping[str, Extent]:
            extents = measure_by_footers(files, time_column)
            if extents is not None:
                return extents
            session = self._spark(f"the recording of stream {stream.name}")
            return measure_files(session, files, time_column)

        is_there = stream.source.scheme == HANDED and self.home.exists
        handovers = HandoverLedger(self.home.open(), self.home.handovers) if is_there else None
        tools = SourceTools(self._clock, measure, self._recorded, handovers or NoHandovers())
        return open_source(stream, tools)


def _explain(query: QueryPlan, _: Catalog) -> Reply:
    return Explanation("PLAN", (query,), explain_plan(query))
