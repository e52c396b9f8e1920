"""The engine: register statements, run streams, hand out answers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pyarrow as pa

from tidemill.answer.task import AnswerFolders
from tidemill.catalog import Catalog, Stream
from tidemill.catalog.names import Name
from tidemill.clock import Clock, SystemClock
from tidemill.connect.sinks import Printer, SinkWriter, distinct_writers
from tidemill.connect.sinks.console import print_frame
from tidemill.connect.sources import AnySource, Extent, Files, SourceTools, open_source
from tidemill.engine.beside.agenda import AgendaContext
from tidemill.engine.beside.one_time import OneTimeAnswerer, refuse_changed, windows_held
from tidemill.engine.beside.runs import SoftRuns
from tidemill.engine.beside.selects import WaitingSelects
from tidemill.engine.explain import THIS_QUERY, Explainer
from tidemill.engine.home import Home
from tidemill.engine.pending import PendingReply, all_replies
from tidemill.engine.query import Query
from tidemill.engine.register.aggregates import check_calls, statement_of
from tidemill.engine.register.bind import Binder
from tidemill.engine.register.buckets import settle_buckets
from tidemill.engine.register.figures import load_machines
from tidemill.engine.register.plan import Planner
from tidemill.engine.register.script import (
    Notice,
    ReadStatement,
    apply_script,
    placed,
    source_place,
)
from tidemill.engine.register.store import Registered, load_registered, save_plan, save_registered
from tidemill.engine.register.tables import JoinedTables
from tidemill.engine.register.upkeep import Upkeep, oversized
from tidemill.engine.requests import RequestQueue, serving
from tidemill.engine.run import Listener, RunLoop, RunReport, describe_run, long_lived_objects
from tidemill.engine.show import reply_to
from tidemill.engine.tick.context import (
    AnswerContext,
    DecideContext,
    FoldContext,
    TickContext,
)
from tidemill.engine.tick.journal import Journal, QueryState, StreamState
from tidemill.engine.tick.outlets import Outlets
from tidemill.engine.tick.runner import StreamRunner
from tidemill.errors import refuse
from tidemill.explain.plan import explain_plan
from tidemill.explain.replies import Explanation, Reply
from tidemill.failpoints import armed
from tidemill.language import render
from tidemill.language.statements import CreateQuery, RunSelect
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
from tidemill.share import SharedPlan
from tidemill.spark.on_demand import SparkOnDemand
from tidemill.spark.readers import measure_files
from tidemill.spark.session import Session
from tidemill.words import many

Answer = Callable[[QueryPlan, Catalog], PendingReply]


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
        self._subscribers: dict[str, list[Callable[[pa.Table], None]]] = {}
        self._requests = RequestQueue()
        # While nothing runs, any thread may carry out its statements, one at a time.
        self._lock = threading.RLock()
        self._outlets = Outlets(self.home, default_sink, printer or print_frame)
        self._tables = JoinedTables(self.home.tables, self._spark)
        self._binder = Binder(self._tables, self._spark)
        self._planner = Planner(self._state, self._open_source, self._spark)
        self._upkeep = Upkeep(self._planner)
        self._registered = Registered()
        self._one_time = OneTimeAnswerer(self._spark, self.home)
        self._selects = WaitingSelects()
        # There is one while streams run.
        self._soft: SoftRuns | None = None
        if self.home.exists:
            self._load()

    @property
    def catalog(self) -> Catalog:
        return self._registered.catalog

    @property
    def plan(self) -> SharedPlan:
        return self._registered.plan

    @property
    def queries(self) -> dict[str, QueryState]:
        return self._registered.queries

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
        self._tables.begin()
        folder = Path(base).absolute()
        replies = all_replies(self._apply(text, folder, _explain)[1]).result()
        return [str(reply) for reply in replies]

    def drawing(self, text: str = "", base: str | os.PathLike[str] = ".") -> str:
        """The shared plan with a script's queries too, as SVG; nothing is registered."""
        folder = Path(base).absolute()
        catalog, _ = self._apply(text, folder, _explain)
        return self._explainer(catalog).drawing()

    def run(self, until: str = "idle", listener: Listener | None = None) -> RunReport:
        """Run the streams: until "idle" (all input taken), "flush" (and every window closed)
        or "stopped" (for ever, until `stop`)."""
        if until not in ("idle", "flush", "stopped"):
            refuse("E_RUN", f"no way to run until '{until}'", hint="idle, flush or stopped")
        self._stop.clear()
        poll_seconds = self.catalog.settings.poll_ms / 1000
        with serving(self.home, self._requests, self._sql_beside) as serve, long_lived_objects():
            runners, between = self._runners(), partial(self._between, serve)
            self._notice("taking the first input")
            run = RunLoop(runners, between, self._clock, poll_seconds, self._stop, listener)
            self._soft = run.soft
            try:
                run.go(until)
            finally:
                self._soft = None
                run.soft.close()
                self._selects.settle(self._select)
                self._outlets.close(self.plan)
        describe_run(run.report, run.runners, self.plan, self.queries)
        run.report.stopped = {str(query): reason for query, reason in self.catalog.stopped.items()}
        return run.report

    def stop(self) -> None:
        """Ask a run to finish its tick and return; safe from a signal handler or thread."""
        self._stop.set()

    def query(self, name: str) -> Query:
        return Query(self, self.catalog.query(name).name)

    def subscribe(self, query: str, callback: Callable[[pa.Table], None]) -> None:
        self._subscribers.setdefault(query, []).append(callback)

    def sink_of(self, query: str) -> SinkWriter:
        return self._outlets.of_query(query, self.catalog)

    def plan_of(self, query: str) -> QueryPlan:
        """What a query means, whether it stands or has been stopped."""
        return self._binder.settled(self.catalog, self.plan)(self.catalog.query(query))

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

    def _sql(self, text: str, base: str, answer: Answer) -> list[PendingReply]:
        self._tables.begin()
        catalog, replies = self._apply(text, Path(base).absolute(), answer)
        if catalog != self.catalog:
            return [*self._settled(replies), *self._adopt(catalog, text)]
        return replies

    def _settled(self, pending: list[PendingReply]) -> list[Reply]:
        """Before anything takes effect: a SELECT that fails is a bad statement, too."""
        replies = all_replies(pending)
        if not replies.done():
            self._finish_beside()
        return replies.result()

    def _apply(self, text: str, folder: Path, answer: Answer) -> tuple[Catalog, list[PendingReply]]:
        respond = partial(self._respond, answer)
        return apply_script(text, folder, self.catalog, self._check, respond, self._notice)

    def _load(self) -> None:
        self._notice("opening the home")
        connection = self.home.open()
        self._registered = load_registered(connection, self._binder.unsettled)
        self._planner.machines = load_machines(connection)

    def _check(self, query: CreateQuery, catalog: Catalog) -> None:
        check_calls(self._binder.settled(catalog, self.plan)(query))

    def _respond(
        self, answer: Answer, statement: ReadStatement | RunSelect, catalog: Catalog
    ) -> PendingReply:
        if isinstance(statement, RunSelect):
            query = CreateQuery(THIS_QUERY, None, statement.select)
            return answer(self._binder.once(catalog, self.plan)(query), catalog)
        return reply_to(statement, self._explainer(catalog), self.queries)

    def _select(self, query: QueryPlan) -> Reply:
        """The answer now, from what is held."""
        return self._one_time.answer(query, self.plan, self._state(source_name(query.relation)))

    def _select_now(self, query: QueryPlan, catalog: Catalog) -> Reply:
        refuse_changed(query, self.catalog, catalog)
        return self._select(query)

    def _select_beside(self, query: QueryPlan, catalog: Catalog) -> PendingReply:
        """The answer when its turn has come; what is not held is refused at once."""
        refuse_changed(query, self.catalog, catalog)
        state = self._state(source_name(query.relation))
        windows_held(query, self.plan, state)
        update_us = self.catalog.stream(source_name(query.relation)).update_us
        return self._selects.ask(query, state.time.updates(update_us) or 0)

    def _explainer(self, catalog: Catalog) -> Explainer:
        bind = self._binder.settled(catalog, self.plan)
        return Explainer(self.plan, catalog, bind, self._planner, self._tables.frame)

    def _adopt(self, catalog: Catalog, text: str) -> list[Reply]:
        """Make a checked catalog the standing one, on disk and here."""
        plan = self._planned(catalog)
        self._check_sources(catalog, plan, text)
        self._outlets.check(catalog, plan, set(self.queries))
        self._finish_beside()
        self._finish_interrupted()
        self._outlets.settle_changed(self.catalog, self.plan, plan)
        connection = self.home.open()
        after, writers = self._registered.followed_by(catalog, plan), self._outlets.of(catalog)
        replies: list[Reply] = list(self._planner.announce(self.plan, plan))
        self._tables.write(plan)
        save_registered(connection, self._registered, after, writers)
        self._registered = after
        self._outlets.stand(writers)
        self._tables.sweep(plan)
        self._binder.keep_only(catalog)
        return replies

    def _planned(self, catalog: Catalog) -> SharedPlan:
        queries = self._binder.all_of(catalog, self.plan)
        self._notice(f"planning {many(len(queries), 'query')}")
        return self._planner.change(self.plan, catalog, queries, self.catalog.settings)

    def _check_sources(self, catalog: Catalog, plan: SharedPlan, text: str) -> None:
        for name in plan.streams:
            with placed(text, source_place(self.catalog, catalog, name)):
                self._open_source(catalog.stream(name))

    def _state(self, stream: Name) -> StreamState:
        if not self.home.exists:
            return StreamState()
        return Journal(self.home.open()).load(stream, with_inputs=False)

    def _finish_beside(self) -> None:
        """Before the plan changes: what is answered beside the ticks, or waits, belongs to it."""
        if self._soft:
            self._soft.finish()
            self._selects.settle(self._select)

    def _finish_interrupted(self) -> None:
        """A cut-off tick that had decided belongs to the plan it began under: finish it first.

        One that had not is given up; its input is taken again under the new plan.
        """
        if not self.home.exists:
            return
        journal = Journal(self.home.open())
        streams = {source_name(synopsis.relation) for synopsis in self.plan.synopses}
        for stream in streams:
            journal.abandon_undecided(stream)
        if any(journal.unfinished(stream) for stream in streams):
            for runner in self._runners():
                runner.recover()

    # Running

    def _between(
        self, serve: Callable[[], None], runners: list[StreamRunner]
    ) -> list[StreamRunner]:
        """Between ticks: statements, then the plan; who does not run by it any more is replaced."""
        serve()
        plan = self._upkeep.plan_after(self.plan, runners, self.catalog)
        if plan is not self.plan:
            self._finish_beside()
            self._registered = save_plan(self.home.open(), self._registered, plan)
        self._stop_oversized(runners)
        # A listener may have changed the plan too, so it is not asked what was served.
        current = [r for r in runners if r.follows(self.plan, self.catalog)]
        return runners if len(current) == len(self._registered.streams()) else self._runners()

    def _stop_oversized(self, runners: Sequence[StreamRunner]) -> None:
        """Stop queries whose counted values take more memory than the setting allows."""
        versions = {runner.stream.key: runner.state.version for runner in runners}
        problems = oversized(self.plan, versions, self.catalog.settings.value_memory)
        if not problems:
            return
        for problem in problems.values():
            self._notice(problem.primary)
        self._tables.begin()
        self._adopt(self.catalog.stopping({q: p.render() for q, p in problems.items()}), "")

    def _open_source(self, stream: Stream) -> AnySource:
        def measure(files: Files, time_column: str) -> Extent:
            session = self._spark(f"the recording of stream {stream.name}")
            return measure_files(session, files, time_column)

        return open_source(stream, SourceTools(self._clock, measure))

    def _runners(self) -> list[StreamRunner]:
        connection = self.home.open()
        journal = Journal(connection)
        sinks = self._outlets.standing(self.catalog)
        for writer in distinct_writers(sinks.values()):
            writer.recover()
        buckets = settle_buckets(
            journal, self.plan.synopses, self.catalog.settings.buckets, self._spark.cores
        )
        context = self._tick_context(journal, sinks, buckets)
        return [
            StreamRunner(context, stream, self._open_source(stream), journal.load(stream.name))
            for stream in self._registered.streams()
        ]

    def _tick_context(
        self, journal: Journal, sinks: Mapping[str, SinkWriter], buckets: Mapping[str, int]
    ) -> TickContext:
        plan, catalog, home, failpoint = self.plan, self.catalog, self.home, armed()
        settings, paused, states = catalog.settings, catalog.paused, self.queries
        folders = AnswerFolders(home.synopses, home.staging, failpoint)
        costs = self._planner.all_costs(plan, catalog)
        return TickContext(
            plan=plan,
            settings=settings,
            paused=paused,
            home=home,
            journal=journal,
            clock=self._clock,
            fold=FoldContext(
                session=self._spark,
                home=home,
                journal=journal,
                scan=settings.scan,
                feeds=self._planner.all_feeds(plan, catalog),
                tables=self._tables.frame,
                buckets=buckets,
                failpoint=failpoint,
            ),
            decide=DecideContext(plan, paused, buckets, settings.snapshot_pieces),
            answer=AnswerContext(
                session=self._spark,
                plan=plan,
                folders=folders,
                buckets=buckets,
                sinks=sinks,
                subscribers=self._subscribers,
                states=states,
            ),
            agenda=AgendaContext(plan, paused, settings.schedule, costs, states, self._selects),
            one_time=self._one_time,
        )


def _explain(query: QueryPlan, _: Catalog) -> Reply:
    return Explanation("PLAN", (query,), explain_plan(query))
