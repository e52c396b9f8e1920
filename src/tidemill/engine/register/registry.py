"""The registered state of an engine, and the one way to change it: plan, check, write, adopt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from tidemill.catalog import Catalog
from tidemill.catalog.differences import check_advance
from tidemill.catalog.handed import answering_query
from tidemill.catalog.options import priority_of_select
from tidemill.connect.handovers import HandoverLedger
from tidemill.engine.explain import THIS_QUERY, Explainer
from tidemill.engine.home import Home
from tidemill.engine.register.aggregates import check_calls
from tidemill.engine.register.bind import Binder
from tidemill.engine.register.figures import load_machines
from tidemill.engine.register.learned import Declared, keep_sample, load_samples
from tidemill.engine.register.plan import Planner
from tidemill.engine.register.script import Checked, Notice, placed, source_place
from tidemill.engine.register.store import Registered, load_registered, save_plan, save_registered
from tidemill.engine.register.tables import JoinedTables
from tidemill.engine.register.windows import check_windows
from tidemill.engine.tick.journal import Journal, QueryState, StreamState
from tidemill.engine.tick.outlets import Outlets
from tidemill.errors import refuse
from tidemill.explain.replies import Message
from tidemill.language.names import Name
from tidemill.language.statements import (
    AdvanceStream,
    CreateAnswerStream,
    CreateDerivedStream,
    CreateQuery,
    RunSelect,
)
from tidemill.plan.bind.answers import with_columns
from tidemill.plan.query import QueryPlan
from tidemill.plan.row_query import AnyQuery
from tidemill.share import Sample, SharedPlan
from tidemill.words import many


@dataclass
class Registry:
    """Catalog, plan and counts as they stand, in the home and in memory alike.

    `notice` is told what long work is under way.
    """

    home: Home
    outlets: Outlets
    tables: JoinedTables
    binder: Binder
    planner: Planner
    notice: Notice
    registered: Registered = field(default_factory=Registered)

    @property
    def catalog(self) -> Catalog:
        return self.registered.catalog

    @property
    def plan(self) -> SharedPlan:
        return self.registered.plan

    @property
    def queries(self) -> dict[str, QueryState]:
        return self.registered.queries

    def load(self) -> None:
        self.notice("opening the home")
        connection = self.home.open()
        self.registered = load_registered(connection, self.binder.restore)
        self.planner.machines = load_machines(connection)
        self.planner.samples = load_samples(connection)

    def check(self, statement: Checked, catalog: Catalog) -> None:
        """Refuses a query, or a derived stream, that has no meaning under a catalog, and a promise
        that would take a stream back in time."""
        if isinstance(statement, AdvanceStream):
            check_advance(statement, stream_state(self.home, Name(statement.name)).time.since_us)
        elif isinstance(statement, CreateDerivedStream):
            self.binder.stream(statement.name, catalog)
        elif isinstance(plan := self.bind(statement, catalog), QueryPlan):
            check_calls(plan)
            for part in plan.by_source:
                check_windows(part.window)

    def complete(self, statement: CreateAnswerStream, catalog: Catalog) -> CreateAnswerStream:
        """With the columns that the answers have."""
        catalog.check_inputs(statement)
        query = answering_query(statement)
        self.check(query, catalog)
        return with_columns(statement, self.bind(query, catalog))

    def bind(self, query: CreateQuery, catalog: Catalog) -> AnyQuery:
        return self.binder.recall(catalog, self.plan)(query)

    def bind_once(self, run: RunSelect, catalog: Catalog) -> QueryPlan:
        """For a query that will not stand."""
        if run.select.emit.place is not None:
            refuse(
                "E_EMIT",
                "a SELECT by itself has no EMIT: it is answered once",
                hint="CREATE QUERY name AS … answers windows as they come",
                place=run.select.emit.place,
            )
        if run.select.delta:
            refuse(
                "E_WINDOW",
                f"a SELECT by itself has no {run.select.delta}: no answer comes before it",
                hint="CREATE QUERY name AS … tells how its answers change",
                place=run.select.delta_place,
            )
        query = CreateQuery(THIS_QUERY, None, run.select)
        priority = priority_of_select(run)
        plan = self.binder.bind(query, catalog, self.plan)
        if isinstance(plan, QueryPlan):
            for part in plan.by_source:
                check_windows(part.window)
            return replace(plan.answered_once(), priority=priority)
        if plan.join is not None:
            refuse(
                "E_WINDOW",
                "a SELECT by itself is answered at an instant, and no window here slides",
                hint="give one a SLIDE, and aggregate; or let the results come: CREATE QUERY",
                place=run.select.place,
            )
        refuse(
            "E_WINDOW",
            "a SELECT by itself reads a window, and this stream has none",
            hint="add a window: FROM stream [RANGE r SLIDE s]; or let the rows come: CREATE QUERY",
            place=run.select.stream_place,
        )

    def explainer(self, catalog: Catalog) -> Explainer:
        bind = self.binder.recall(catalog, self.plan)
        settings = self.catalog.settings
        bound = partial(self.binder.stream, catalog=catalog)
        return Explainer(self.plan, settings, catalog, bind, bound, self.planner, self.tables.frame)

    def adopt(self, catalog: Catalog, text: str, finish: Callable[[], None]) -> list[Message]:
        """Make a checked catalog the standing one, on disk and here; all of it or nothing.

        `text` is the script that declares it, for the places of refusals. `finish` ends what is
        under way by the plan before, and is called when nothing can be refused any more.
        """
        plan = self._planned(catalog)
        # A source that is gone is not in the way of who promises that nothing comes of it.
        if replace(self.catalog, advances=catalog.advances) != catalog:
            self.check_sources(catalog, plan.streams, text)
        self.outlets.check(catalog, plan, set(self.queries))
        finish()
        self.outlets.settle_changed(self.catalog, self.plan, plan)
        after, writers = self.registered.followed_by(catalog, plan), self.outlets.of(catalog)
        messages = list(self.planner.announce(self.plan, plan))
        self.tables.write(plan)
        connection = self.home.open()
        samples = self.planner.samples_of(catalog)
        ledger = HandoverLedger(connection, self.home.handovers)
        save_registered(connection, self.registered, after, writers, samples, ledger)
        self.registered = after
        self.outlets.stand(writers)
        self.tables.sweep(plan)
        self.binder.keep_only(catalog)
        return messages

    def replace_plan(self, plan: SharedPlan) -> None:
        """Another plan for the same queries."""
        self.registered = save_plan(self.home.open(), self.registered, plan)

    def _planned(self, catalog: Catalog) -> SharedPlan:
        queries = self.binder.recall_all(catalog, self.plan)
        self.notice(f"planning {many(len(queries), 'query')}")
        self.planner.renew_samples(catalog, queries)
        return self.planner.change(self.plan, catalog, queries, self.catalog.settings)

    def check_sources(self, catalog: Catalog, streams: Iterable[Name], text: str) -> None:
        """Refuses streams whose source cannot be opened, at their place in the text."""
        for name in streams:
            with placed(text, source_place(self.catalog, catalog, name)):
                self.planner.open_source(catalog.stream(name))


def keep_learned(home: Home, declared: Declared, sample: Sample) -> None:
    """In a home that is there; what was learned for one to come is written with its plan."""
    if home.exists:
        keep_sample(home.open(), declared, sample)


def stream_state(home: Home, stream: Name) -> StreamState:
    """The state of a stream after its last tick; its beginning if there is no home yet."""
    if not home.exists:
        return StreamState()
    return Journal(home.open()).load(stream, with_inputs=False)
