"""The engine: register statements, run streams, hand out answers."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from tidemill.catalog import Catalog, CatalogStore, Sink, Stream
from tidemill.catalog.streams import Address
from tidemill.clock import Clock, SystemClock
from tidemill.engine.aggregates import check_calls, statement_of
from tidemill.engine.buckets import settle_buckets
from tidemill.engine.calibrating.store import load_machines
from tidemill.engine.closing import Closing
from tidemill.engine.collecting import long_lived_objects
from tidemill.engine.explain import Explainer
from tidemill.engine.home import Home
from tidemill.engine.journal import Journal, QueryState, StreamState
from tidemill.engine.mailbox import Mailbox
from tidemill.engine.oversized import oversized
from tidemill.engine.planning import Planner
from tidemill.engine.plans import Bind, Bound, PlanStore, binder
from tidemill.engine.query import Query
from tidemill.engine.rates import RateWatch
from tidemill.engine.registration import Notice, Question, apply_script, placed, source_place
from tidemill.engine.requests import Requests
from tidemill.engine.runs import Between, Listener, Run, RunReport, describe_run
from tidemill.engine.show import describe, show
from tidemill.engine.sinks import Printer, SinkWriter, distinct_writers, open_sink
from tidemill.engine.stream_runner import StreamRunner
from tidemill.engine.surroundings import Surroundings
from tidemill.engine.tables import Tables, restored
from tidemill.errors import TidemillError, refuse
from tidemill.failpoints import armed
from tidemill.language import render
from tidemill.language.statements import CreateQuery, Describe, Show
from tidemill.operators.rows import answer_schema
from tidemill.plan.model import QueryPlan
from tidemill.share import SharedPlan, retire_stints
from tidemill.share.explain_words import many
from tidemill.spark.analysis import spark_oracle
from tidemill.spark.explain import explain_partials
from tidemill.spark.session import Session, start_session
from tidemill.spark.sources import Source, open_source
from tidemill.synopsis.feed import Feed
from tidemill.types import Type


class Engine(Closing):
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
        self._master = master
        self._clock = clock or SystemClock()
        self._default_sink = Sink("default", Address(default_sink, ""))
        self._printer = printer or (lambda query, rows: print(f"{query}\n{rows.to_pandas()}"))
        self._notice: Notice = notice or (lambda _: None)
        self._session: Session | None = None
        self._stop = threading.Event()
        self._subscribers: dict[str, list[Callable[[pa.Table], None]]] = {}
        self._sinks: dict[str, SinkWriter] = {}
        self._opened: dict[Sink, SinkWriter] = {}
        self._requests = Requests()
        self._rates: dict[str, RateWatch] = {}
        self._bound_plans: Bound = {}
        self.catalog, self.plan = Catalog(), SharedPlan()
        self._tables = Tables(self.home.tables, lambda: self.session)
        self._planner = Planner(self._state, self._open_source, lambda: self.session)
        self.queries: dict[str, QueryState] = {}
        if self.home.exists:
            self._load()

    def sql(self, text: str, base: str | os.PathLike[str] = ".") -> list[str]:
        """Run a script's statements; all of them take effect or none. Returns the replies.

        Relative paths in it are relative to `base`. While another thread runs the streams,
        the statements take effect between two of its ticks.
        """
        answered = self._requests.ask(text, base)
        return self._sql(text, os.fspath(base)) if answered is None else answered

    def register(self, cls: type, or_replace: bool = False) -> list[str]:
        """Make an aggregate of a class that `tidemill.aggregate` has marked.

        What is kept, and run by workers, is the text of the file that defines it.
        """
        return self.sql(render(statement_of(cls, or_replace)))

    def explain(self, text: str, base: str | os.PathLike[str] = ".") -> list[str]:
        """The replies of a script's questions; nothing is registered."""
        self._tables.begin()
        folder = Path(base).absolute()
        return self._apply(text, folder)[1]

    def drawing(self, text: str = "", base: str | os.PathLike[str] = ".") -> str:
        """The shared plan with a script's queries too, as SVG; nothing is registered."""
        folder = Path(base).absolute()
        catalog, _ = self._apply(text, folder)
        return self._explainer(catalog).drawing()

    def run(self, until: str = "idle", listener: Listener | None = None) -> RunReport:
        """Run the streams: until "idle" (all input taken), "flush" (and every window closed)
        or "stopped" (for ever, until `stop`)."""
        if until not in ("idle", "flush", "stopped"):
            refuse("E_RUN", f"no way to run until '{until}'", hint="idle, flush or stopped")
        self._stop.clear()
        poll_seconds = self.catalog.settings.poll_ms / 1000
        with self._serving() as between, long_lived_objects():
            runners = self._runners()
            self._notice("taking the first input")
            run = Run(runners, between, self._clock, poll_seconds, self._stop, listener)
            try:
                run.go(until)
            finally:
                self._close_sinks()
        describe_run(run.report, run.runners, self.plan, self.queries)
        run.report.stopped = dict(self.catalog.stopped)
        return run.report

    def stop(self) -> None:
        """Ask a run to finish its tick and return; safe from a signal handler or thread."""
        self._stop.set()

    def query(self, name: str) -> Query:
        return Query(self, self.catalog.query(name).name)

    def subscribe(self, query: str, callback: Callable[[pa.Table], None]) -> None:
        self._subscribers.setdefault(query, []).append(callback)

    def sink_of(self, query: str) -> SinkWriter:
        if query not in self._sinks:
            self._sinks = self._open_sinks(self.catalog)
        return self._sinks[query]

    def plan_of(self, query: str) -> QueryPlan:
        """What a query means, whether it stands or has been stopped."""
        return self._bind(self.catalog)(self.catalog.query(query))

    def close(self) -> None:
        self.home.close()

    @property
    def session(self) -> Session:
        """Started when first needed: a wrong script should not have to wait for it."""
        if self._session is None:
            self._notice("starting Spark")
            self._session = start_session(self._master)
        return self._session

    # Registration

    def _sql(self, text: str, base: str) -> list[str]:
        self._tables.begin()
        catalog, replies = self._apply(text, Path(base).absolute())
        if catalog != self.catalog:
            replies += self._adopt(catalog, text)
        return replies

    def _apply(self, text: str, folder: Path) -> tuple[Catalog, list[str]]:
        return apply_script(text, folder, self.catalog, self._check, self._respond, self._notice)

    def _load(self) -> None:
        self._notice("opening the home")
        connection = self.home.open()
        self.catalog = CatalogStore(connection).load()
        self.plan = restored(PlanStore(connection).load(self.catalog, self._binder(self.catalog)))
        self.queries = Journal(connection).load_queries()
        self._planner.machines = load_machines(connection)

    def _bind(self, catalog: Catalog) -> Bind:
        bind = self._binder(catalog)
        return lambda query: self._tables.settle(query, bind(query), catalog, self.plan)

    def _binder(self, catalog: Catalog) -> Bind:
        def oracle(sql: str, columns: Mapping[str, Type]) -> Type:
            return spark_oracle(self.session, sql, columns)

        return binder(catalog, oracle, self._bound_plans)

    def _check(self, query: CreateQuery, catalog: Catalog) -> None:
        check_calls(self._bind(catalog)(query))

    def _respond(self, question: Question, catalog: Catalog) -> str:
        if isinstance(question, Show) and question.kind == "WEAVES":
            return self._explainer(catalog).weaves()
        if isinstance(question, Show):
            return show(question.kind, catalog, self.queries)
        if isinstance(question, Describe):
            return describe(question.name, catalog, self.queries)
        return self._explainer(catalog).explain(question)

    def _explainer(self, catalog: Catalog) -> Explainer:
        spark_plan = partial(self._spark_plan, catalog)
        return Explainer(self.plan, catalog, self._bind(catalog), self._planner, spark_plan)

    def _spark_plan(self, catalog: Catalog, feeds: Sequence[Feed], shown: Sequence[Feed]) -> str:
        stream = catalog.stream(feeds[0].scan.stream)
        source = self._open_source(stream)
        tables, settings = self._tables.frame, catalog.settings
        return explain_partials(self.session, stream, source, feeds, shown, settings, tables)

    def _adopt(self, catalog: Catalog, text: str) -> list[str]:
        """Make a checked catalog the standing one, on disk and here."""
        queries = tuple(self._bound(catalog, query) for query in catalog.standing())
        self._notice(f"planning {many(len(queries), 'query')}")
        plan = self._planner.change(self.plan, catalog, queries, self.catalog.settings)
        for name in {query.stream for query in queries}:
            with placed(text, source_place(self.catalog, catalog, name)):
                self._open_source(catalog.stream(name))
        self._check_sinks(catalog, plan)
        self._finish_interrupted()
        self._settle_changed(plan)
        connection = self.home.open()
        journal, sinks = Journal(connection), self._open_sinks(catalog)
        states = self._query_states(catalog, plan)
        replies = list(self._planner.announce(self.plan, plan))
        catalogs, plans = CatalogStore(connection), PlanStore(connection)
        self._tables.write(plan)
        with journal.transaction():
            catalogs.save(catalog)
            plans.save(self.plan, plan)
            journal.forget_queries(self.queries.keys() - states.keys())
            journal.save_queries(states)
            for writer in distinct_writers(sinks.values()):
                writer.record()
        self.catalog, self.plan, self.queries, self._sinks = catalog, plan, states, sinks
        self._tables.sweep(plan)
        standing = set(catalog.queries())
        self._bound_plans = {key: p for key, p in self._bound_plans.items() if key[0] in standing}
        return replies

    def _bound(self, catalog: Catalog, query: CreateQuery) -> QueryPlan:
        """A query's plan; a refusal says which query, since the script may not show it."""
        try:
            return self._bind(catalog)(query)
        except TidemillError as error:
            detail = f"in query {query.name}\n{error.problem.detail}".strip()
            raise TidemillError(replace(error.problem, detail=detail, place=None)) from None

    def _check_sinks(self, catalog: Catalog, plan: SharedPlan) -> None:
        """Refuse places that are taken, before a new home is made for the answers."""
        fresh = [query for query in plan.queries if query.name not in self.queries]
        connection = self.home.open() if self.home.exists else sqlite3.connect(":memory:")
        for query in fresh:
            sink = self._default_sink if query.sink is None else catalog.sink(query.sink)
            writer = open_sink(sink, connection, self.home.staging, catalog.settings, self._printer)
            writer.check(query.name)

    def _settle_changed(self, plan: SharedPlan) -> None:
        """What a replaced query has staged is delivered as its own, under its old columns."""
        changed = [query for query in self.plan.queries if not plan.stands(query)]
        if not changed:
            return
        sinks = self._sinks or self._open_sinks(self.catalog)
        for query in changed:
            sinks[query.name].recover()
            sinks[query.name].settle(query.name)

    def _query_states(self, catalog: Catalog, plan: SharedPlan) -> dict[str, QueryState]:
        """Counts go on for a query that stays as it is, and begin anew for any other."""
        standing = {query.name for query in self.plan.queries if plan.stands(query)}
        standing |= {query.name for query in catalog.queries() if catalog.is_stopped(query.name)}
        return {
            query.name: self.queries.get(query.name, QueryState())
            if query.name in standing
            else QueryState()
            for query in catalog.queries()
        }

    def _state(self, stream: str) -> StreamState:
        return Journal(self.home.open()).load(stream) if self.home.exists else StreamState()

    def _finish_interrupted(self) -> None:
        """A cut-off tick that had decided belongs to the plan it began under: finish it first.

        One that had not is given up; its input is taken again under the new plan.
        """
        if not self.home.exists:
            return
        journal = Journal(self.home.open())
        streams = {synopsis.stream for synopsis in self.plan.synopses}
        for stream in streams:
            journal.abandon_undecided(stream)
        if any(journal.unfinished(stream) for stream in streams):
            for runner in self._runners():
                runner.recover()

    # Running

    @contextmanager
    def _serving(self) -> Iterator[Between]:
        """While streams run, statements of others are carried out between their ticks."""
        self.home.open()
        mailbox = Mailbox(self.home.path, self.home.begin_run())
        self._requests.begin()

        def between(runners: list[StreamRunner]) -> list[StreamRunner]:
            self._requests.serve(self._sql)
            mailbox.serve(self._sql)
            for runner in runners:
                self._tidy(runner)
            self._stop_oversized(runners)
            # A listener may have changed the plan too, so it is not asked what was served.
            current = [r for r in runners if r.follows(self.plan, self.catalog)]
            return runners if len(current) == len(self._streams()) else self._runners()

        try:
            yield between
        finally:
            self._requests.end(self._sql)
            mailbox.serve(self._sql)
            self.home.end_run()
            mailbox.close()

    def _tidy(self, runner: StreamRunner) -> None:
        """Let go of what nobody reads since queries have moved on; follow the rate of input."""
        name, plan = runner.stream.name, self.plan
        watermark_us = runner.state.time.watermark_us
        if watermark_us is not None:
            plan = retire_stints(plan, name, watermark_us)
        if (rate := self._rates.setdefault(name, RateWatch()).note(runner.state)) is not None:
            plan = self._planner.at_rate(plan, name, rate, self.catalog)
        if plan is not self.plan:
            self._keep(plan)

    def _stop_oversized(self, runners: Sequence[StreamRunner]) -> None:
        """Queries whose counted values take more than they may have had their last answer."""
        most = self.catalog.settings.value_memory
        found = (oversized(self.plan, r.stream.name, r.state.version, most) for r in runners)
        reasons = {query: problem for one in found for query, problem in one.items()}
        if not reasons:
            return
        for problem in reasons.values():
            self._notice(problem.primary)
        self._tables.begin()
        self._adopt(self.catalog.stopping({q: p.render() for q, p in reasons.items()}), "")

    def _keep(self, plan: SharedPlan) -> None:
        connection = self.home.open()
        # Made before the transaction begins: it makes its tables, which would end one.
        store = PlanStore(connection)
        with Journal(connection).transaction():
            store.save(self.plan, plan)
        self.plan = plan

    def _open_source(self, stream: Stream) -> Source:
        return open_source(stream, lambda: self.session, self._clock)

    def _open_sinks(self, catalog: Catalog) -> dict[str, SinkWriter]:
        """One writer per sink, shared by the queries that write to it."""
        connection, writers = self.home.open(), {}
        for name in {query.into for query in catalog.queries()}:
            sink = self._default_sink if name is None else catalog.sink(name)
            writers[name] = self._opened.get(sink) or open_sink(
                sink, connection, self.home.staging, catalog.settings, self._printer
            )
            self._opened[sink] = writers[name]
        return {query.name: writers[query.into] for query in catalog.queries()}

    def _runners(self) -> list[StreamRunner]:
        connection = self.home.open()
        journal = Journal(connection)
        sinks = self._sinks or self._open_sinks(self.catalog)
        self._sinks = sinks
        for writer in distinct_writers(sinks.values()):
            writer.recover()
        cores = self.session.sparkContext.defaultParallelism
        wanted = settle_buckets(journal, self.plan.synopses, self.catalog.settings.buckets, cores)
        around = Surroundings(
            session=self.session,
            home=self.home,
            journal=journal,
            clock=self._clock,
            settings=self.catalog.settings,
            plan=self.plan,
            feeds=self._feeds(),
            tables=self._tables.frame,
            paused=self.catalog.paused,
            sinks=sinks,
            queries=self.queries,
            buckets=wanted,
            failpoint=armed(),
            subscribers=self._subscribers,
        )
        return [
            StreamRunner(around, stream, self._open_source(stream), journal.load(stream.name))
            for stream in self._streams()
        ]

    def _streams(self) -> list[Stream]:
        """Those that some query reads."""
        names = dict.fromkeys(query.stream for query in self.plan.queries)
        return [self.catalog.stream(name) for name in names]

    def _feeds(self) -> dict[str, tuple[Feed, ...]]:
        streams = {query.stream for query in self.plan.queries}
        return {
            stream.lower(): self._planner.feeds(self.plan, stream, self.catalog)
            for stream in streams
        }

    def _close_sinks(self) -> None:
        for writer in distinct_writers(self._sinks.values()):
            mine = [q for q in self.plan.queries if self._sinks[q.name] is writer]
            writer.close({query.name: answer_schema(query) for query in mine})
