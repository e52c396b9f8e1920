"""The meaning of queries: definitions bound against the catalog, each once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tidemill.aggregates.functions import signatures_with
from tidemill.catalog import Catalog
from tidemill.catalog.aggregates import calls
from tidemill.catalog.names import Name
from tidemill.catalog.options import priority_of
from tidemill.engine.register.tables import JoinedTables
from tidemill.errors import TidemillError
from tidemill.language.statements import CreateQuery
from tidemill.plan.bind.binder import bind
from tidemill.plan.bind.clauses import with_updates
from tidemill.plan.query import QueryPlan
from tidemill.plan.typing import TypeOracle
from tidemill.share import SharedPlan
from tidemill.spark.analysis import spark_oracle
from tidemill.spark.on_demand import AskSession
from tidemill.types import Type

_READ = ("stream", "table")
Bind = Callable[[CreateQuery], QueryPlan]
Bound = dict[tuple[object, ...], QueryPlan]


class Binder:
    """Binds the queries of one catalog after another; Spark tells types when asked to."""

    def __init__(self, tables: JoinedTables, session: AskSession) -> None:
        self._tables, self._session = tables, session
        self._bound: Bound = {}

    def unsettled(self, catalog: Catalog) -> Bind:
        """Plans whose joins do not say yet which rows they read."""
        return self._unsettled(catalog, self._bound)

    def _unsettled(self, catalog: Catalog, bound: Bound) -> Bind:

        def oracle(sql: str, columns: Mapping[str, Type]) -> Type:
            return spark_oracle(self._session(f"the type of {sql[:60]}"), sql, columns)

        return binder(catalog, oracle, bound)

    def settled(self, catalog: Catalog, standing: SharedPlan) -> Bind:
        unsettled = self.unsettled(catalog)
        return lambda query: self._tables.settle(query, unsettled(query), catalog, standing)

    def once(self, catalog: Catalog, standing: SharedPlan) -> Bind:
        """For queries that will not stand: nothing of them is remembered."""
        unsettled = self._unsettled(catalog, {})
        return lambda query: self._tables.settle(query, unsettled(query), catalog, standing)

    def all_of(self, catalog: Catalog, standing: SharedPlan) -> tuple[QueryPlan, ...]:
        """Plans of the standing queries; a refusal says whose, as no script may show it."""
        settled = self.settled(catalog, standing)
        return tuple(_named(settled, query) for query in catalog.standing())

    def keep_only(self, catalog: Catalog) -> None:
        """Forget the plans of queries that are no longer there."""
        queries = set(catalog.queries())
        self._bound = {key: plan for key, plan in self._bound.items() if key[0] in queries}


def binder(catalog: Catalog, oracle: TypeOracle, bound: Bound) -> Bind:
    """Binds a query definition against the catalog; `bound` remembers what was bound before.

    A plan depends on the query and on what it reads, so equal definitions have equal plans.
    """

    signatures = signatures_with(catalog.aggregates)

    def bind_query(query: CreateQuery) -> QueryPlan:
        if query.into is not None:
            catalog.sink(query.into, query.into_place)
        reads = [query.select.stream, *(join.table for join in query.select.joins)]
        definitions = [catalog.definition(kind, name) for name in reads for kind in _READ]
        called = [code for code in catalog.aggregates if calls(query.select, Name(code.name))]
        key = (query, *definitions, *called)
        if key not in bound:
            bound[key] = bind_afresh(query)
        return bound[key]

    def bind_afresh(query: CreateQuery) -> QueryPlan:
        stream = catalog.stream(query.select.stream, query.select.stream_place)
        tables = tuple(catalog.table(join.table, join.place) for join in query.select.joins)
        select = with_updates(query.select, stream)
        plan = bind(query.name, query.into, select, stream, oracle, signatures, tables)
        return replace(plan, priority=priority_of(query))

    return bind_query


def _named(bind_query: Bind, query: CreateQuery) -> QueryPlan:
    try:
        return bind_query(query)
    except TidemillError as error:
        detail = f"in query {query.name}\n{error.problem.detail}".strip()
        raise TidemillError(replace(error.problem, detail=detail, place=None)) from None
