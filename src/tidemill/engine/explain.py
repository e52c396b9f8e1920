"""EXPLAIN: every value that passes between the stages, printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import TypeVar

from tidemill.catalog import Catalog, Stream
from tidemill.engine.beside.explain import NO_SOFT, explain_schedule
from tidemill.engine.pending import Wording
from tidemill.engine.register.bind import Bind
from tidemill.engine.register.plan import Planner
from tidemill.explain.drawing import draw
from tidemill.explain.plan import explain_plan
from tidemill.explain.query import explain_newcomer, explain_query
from tidemill.explain.replies import Explanation
from tidemill.explain.row_queries import explain_row_query
from tidemill.explain.shared import explain_shared
from tidemill.explain.stream_model import Arrangement
from tidemill.language.names import Name, set_aside_by
from tidemill.language.statements import CreateDerivedStream, CreateQuery, Explain, Expr, Select
from tidemill.plan.bind.branch import BoundStream
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name, source_names
from tidemill.settings import Settings
from tidemill.share import SharedPlan, windowed
from tidemill.spark.catalyst.joins import Tables
from tidemill.spark.explain import explain_partials
from tidemill.state.feed import Feed
from tidemill.state.row_pieces import RowFeed

# The name a SELECT has that is explained before it is registered.
THIS_QUERY = "this_query"
Value = TypeVar("Value")


@dataclass(frozen=True)
class Explainer:
    """Answers EXPLAIN statements; `tables` has the rows that joins read."""

    standing: SharedPlan
    settings: Settings  # by which that plan was made
    catalog: Catalog
    bind: Bind
    bound: Callable[[str], BoundStream]
    planner: Planner
    tables: Tables

    def explain(self, statement: Explain) -> Wording:
        """All is decided at once, and what is worded later changes no more."""
        queries = self._targets(statement)
        match statement.mode:
            case "AST":
                return partial(_pages, "AST", queries, tree)
            case "PLAN":
                return partial(_pages, "PLAN", list(map(self.bind, queries)), explain_plan)
            case "SHARED":
                return self._sharing(statement, queries)
            case "SCHEDULE":
                return partial(_worked_out, self._schedules(statement, queries))
            case _:
                return partial(_worked_out, self._spark(queries))

    def _targets(self, statement: Explain) -> list[CreateQuery]:
        if isinstance(statement.target, Select):
            return [CreateQuery(THIS_QUERY, None, statement.target)]
        if statement.target is None:
            return list(self.catalog.standing())
        return [self.catalog.query(statement.target, statement.place)]

    def arrangements(self) -> list[Arrangement]:
        """The standing plan of queries with windows, stream by stream, with what it costs."""
        plan = self._shared([])
        return [self._arrangement(plan, stream) for stream in plan.shared_streams]

    def sources(self) -> tuple[Stream, ...]:
        """The streams that have rows of their own; of what they set aside, those that are read."""
        names = [
            name
            for stream in self.catalog.of_kind("stream")
            if not isinstance(stream, CreateDerivedStream)
            for name in (stream.name, *self._sides(stream.name))
        ]
        return tuple(map(self.catalog.stream, names))

    def _sides(self, stream: str) -> tuple[Name, ...]:
        handed = self.standing.handed_over
        return tuple(name for name in handed if set_aside_by(name) == Name(stream))

    def soft_queries(self) -> list[QueryPlan]:
        return [query for query in self._shared([]).queries if query.is_soft]

    def drawing(self) -> str:
        """The shared plan of all queries, as SVG."""
        return draw(self.arrangements())

    def _sharing(self, statement: Explain, queries: list[CreateQuery]) -> Wording:
        plan = self._shared(queries)
        page = self._sharing_page(statement, queries, plan)
        return lambda: Explanation("SHARED", plan, page())

    def _sharing_page(
        self, statement: Explain, queries: list[CreateQuery], plan: SharedPlan
    ) -> Callable[[], str]:
        if statement.target is None:
            return partial(explain_shared, self._arranged(plan))
        is_newcomer = isinstance(statement.target, Select)
        row_query = plan.row_query(queries[0].name)
        if row_query is not None:
            return partial(explain_row_query, row_query, is_newcomer)
        query = plan.query(queries[0].name)
        remaining = [other for other in plan.queries if other != query]
        without = (
            self._shared([]) if is_newcomer else self.planner.change(plan, self.catalog, remaining)
        )
        first = self.planner.first_window(plan, query) if is_newcomer else None
        pages: list[Callable[[], str]] = []
        for part in query.by_source:
            # Both plans are there, and so is any sample they took: one estimate for both.
            stream = source_name(part.relation)
            after, before = (self._arrangement(each, stream) for each in (plan, without))
            if is_newcomer:
                pages.append(partial(explain_newcomer, after, before, part, first))
            else:
                pages.append(partial(explain_query, after, before, part))
        return lambda: "\n\n".join(page() for page in pages)

    def _schedules(self, statement: Explain, queries: list[CreateQuery]) -> Explanation:
        """The soft queries by stream: all, or those that can run with the one asked about."""
        plan = self._shared(queries)
        soft = [query for query in plan.queries if query.is_soft]
        if statement.target is not None:
            queried = (query for query in soft if query.name == queries[0].name)
            near = {key for query in queried for key in _synopses(plan, query)}
            soft = [query for query in soft if near & _synopses(plan, query)]
        streams = dict.fromkeys(name for query in soft for name in source_names(query.relation))
        page = "\n\n".join(self._schedule(plan, s, soft) for s in streams) or NO_SOFT
        return Explanation("SCHEDULE", tuple(soft), page)

    def _schedule(self, plan: SharedPlan, stream: Name, soft: list[QueryPlan]) -> str:
        context = self.planner.context(stream, self.catalog, plan)
        version = self.planner.load(stream).version
        parts = (part for query in soft for part in query.by_source)
        queries = [part for part in parts if source_name(part.relation) == stream]
        return explain_schedule(plan, queries, context.costs, version, context.settings)

    def _shared(self, queries: list[CreateQuery]) -> SharedPlan:
        """The plan as it would be with these queries standing too."""
        definitions = dict.fromkeys([*self.catalog.standing(), *queries])
        plans = tuple(self.bind(query) for query in definitions)
        return self.planner.change(self.standing, self.catalog, plans, self.settings)

    def _arranged(self, plan: SharedPlan) -> list[Arrangement]:
        return [self._arrangement(plan, stream) for stream in plan.streams]

    def _arrangement(self, plan: SharedPlan, stream: Name) -> Arrangement:
        context = self.planner.context(stream, self.catalog, plan)
        return Arrangement(stream, plan, context.settings, context.costs)

    def _spark(self, queries: list[CreateQuery]) -> Explanation:
        """The passes that feed these queries."""
        plan, names = self._shared(queries), {query.name for query in queries}
        chosen = [query for query in plan.every_query if query.name in names]
        ids = {key for query in windowed(chosen) for key in _synopses(plan, query)}
        streams = dict.fromkeys(name for query in chosen for name in source_names(query.relation))
        pages: list[str] = []
        shown: list[Feed | RowFeed] = []
        for stream in streams:
            feeds = self.planner.feeds(plan, stream, self.catalog)
            feeding = [feed for feed in feeds if ids & feed.by_id.keys()]
            rows = [feed for feed in plan.rows_of(stream) if feed.query.owner in names]
            pages.append(self._spark_plan(stream, feeds, feeding, rows))
            shown += [*feeding, *rows]
        return Explanation("SPARK", tuple(shown), "\n\n".join(pages))

    def _spark_plan(
        self, name: Name, feeds: Sequence[Feed], shown: Sequence[Feed], rows: Sequence[RowFeed]
    ) -> str:
        """Spark's plans for some of a stream's feeds."""
        stream = self.catalog.stream(name)
        session, source = self.planner.session("its plan"), self.planner.open_source(stream)
        settings = self.catalog.settings
        return explain_partials(session, stream, source, feeds, shown, settings, self.tables, rows)


def _synopses(plan: SharedPlan, query: QueryPlan) -> set[str]:
    """Those that the newest windows of a query are answered from."""
    return {plan.synopsis_of(part.name).id for part in query.by_source}


def _worked_out(explanation: Explanation) -> Explanation:
    """The explanation as it is: only deciding it took time."""
    return explanation


def _pages(stage: str, values: Sequence[Value], page: Callable[[Value], str]) -> Explanation:
    """A page for each value."""
    return Explanation(stage, tuple(values), "\n\n".join(map(page, values)))


def tree(value: object, name: str = "", depth: int = 0) -> str:
    """A frozen value, one field a line; what is at its default is left out."""
    label = f"{'  ' * depth}{name + ' = ' if name else ''}"
    if isinstance(value, Expr):
        return f"{label}{value.sql}"
    if isinstance(value, tuple):
        inner = [tree(item, "", depth + 1) for item in value]
        return "\n".join([f"{label}[{'' if inner else ']'}", *inner])
    if not is_dataclass(value):
        return f"{label}{value!r}"
    shown = [f for f in fields(value) if f.compare and getattr(value, f.name) != f.default]
    inner = [tree(getattr(value, f.name), f.name, depth + 1) for f in shown]
    return "\n".join([f"{label}{type(value).__name__}", *inner])
