"""The plans of queries: definitions bound against the catalog, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from tidemill.aggregates.functions import signatures_with
from tidemill.catalog import Catalog, Table
from tidemill.catalog.aggregates import Code, calls
from tidemill.engine.register.tables import JoinedTables
from tidemill.errors import Place, TidemillError
from tidemill.language.names import Name
from tidemill.language.statements import CreateQuery
from tidemill.plan.bind.binder import bind_query
from tidemill.plan.bind.branch import BoundStream
from tidemill.plan.bind.environment import Environment, ExtentOracle, Memo, no_extent
from tidemill.plan.bind.streams import bound_stream
from tidemill.plan.joins import Join, JoinTerms, TableExtent
from tidemill.plan.row_query import AnyQuery
from tidemill.share import SharedPlan
from tidemill.spark.analysis import spark_oracle
from tidemill.spark.on_demand import AskSession
from tidemill.types import Type

Bind = Callable[[CreateQuery], AnyQuery]


@dataclass
class Binder:
    """Binds queries, and remembers the plans of those that stand or may come to."""

    tables: JoinedTables
    session: AskSession
    _plans: dict[tuple[object, ...], AnyQuery] = field(default_factory=dict)
    # By the aggregates of users, with which expressions may have another meaning.
    _memos: dict[tuple[Code, ...], Memo] = field(default_factory=dict)

    def bind(self, query: CreateQuery, catalog: Catalog, standing: SharedPlan) -> AnyQuery:
        """The plan of a query beside those that stand; nothing of it is remembered."""
        return bind_query(query, catalog, self._beside(catalog, standing))

    def stream(self, stream: str, catalog: Catalog) -> BoundStream:
        """A stream of a catalog as its readers see it."""
        return bound_stream(stream, catalog, self._environment(catalog))

    def recall(self, catalog: Catalog, standing: SharedPlan) -> Bind:
        """Binds queries too, but each only once: its plan is good until a table has other rows."""
        environment = self._beside(catalog, standing)

        def recalled(query: CreateQuery) -> AnyQuery:
            key = _key(query, catalog)
            plan = self._plans.get(key)
            if plan is None or not self._is_current(plan, query, catalog, standing):
                plan = self._plans[key] = bind_query(query, catalog, environment)
            return plan

        return recalled

    def recall_all(self, catalog: Catalog, standing: SharedPlan) -> tuple[AnyQuery, ...]:
        """Plans of the standing queries; a refusal says whose, as no script may show it."""
        recalled = self.recall(catalog, standing)
        return tuple(_named(recalled, query) for query in catalog.standing())

    def restore(self, catalog: Catalog, joins: Iterable[Join]) -> tuple[AnyQuery, ...]:
        """Plans of the standing queries of a home: their joins read the rows of those there."""
        extents = {join.name: join.extent for join in joins}
        environment = self._environment(catalog, lambda terms, *_: extents[terms.name])
        plans = {_key(q, catalog): bind_query(q, catalog, environment) for q in catalog.standing()}
        self._plans.update(plans)
        return tuple(plans.values())

    def keep_only(self, catalog: Catalog) -> None:
        """Forget the plans of queries that are no longer there."""
        queries = set(catalog.every_query())
        self._plans = {key: plan for key, plan in self._plans.items() if key[0] in queries}

    def _beside(self, catalog: Catalog, standing: SharedPlan) -> Environment:
        def extent_of(terms: JoinTerms, table: Table, place: Place | None) -> TableExtent:
            return self.tables.extent_of(terms, table, catalog.settings.scan, standing, place)

        return self._environment(catalog, extent_of)

    def _environment(self, catalog: Catalog, extent_of: ExtentOracle = no_extent) -> Environment:
        def type_of(sql: str, columns: Mapping[str, Type]) -> Type:
            return spark_oracle(self.session(f"the type of {sql[:60]}"), sql, columns)

        memo = self._memos.get(catalog.aggregates)
        if memo is None:
            memo = Memo()
            self._memos = {catalog.aggregates: memo}
        return Environment(signatures_with(catalog.aggregates), type_of, extent_of, memo)

    def _is_current(
        self, plan: AnyQuery, query: CreateQuery, catalog: Catalog, standing: SharedPlan
    ) -> bool:
        """True if a query bound now would read the files that the plan reads."""
        places = {Name(clause.name): clause.place for clause in query.select.joins}
        scan = catalog.settings.scan
        return all(
            self.tables.file_of(
                catalog.table(join.table), scan, standing, places.get(Name(join.table))
            )
            == join.file
            for part in plan.by_source
            for join in part.relation.joins
        )


def _key(query: CreateQuery, catalog: Catalog) -> tuple[object, ...]:
    """The query and all that a catalog declares for it: equal keys have equal plans."""
    definitions = catalog.read_by(query.select)
    sink = catalog.definition("sink", query.into) if query.into is not None else None
    called = [code for code in catalog.aggregates if calls(query.select, Name(code.name))]
    return query, sink, *definitions, *called


def _named(recalled: Bind, query: CreateQuery) -> AnyQuery:
    try:
        return recalled(query)
    except TidemillError as error:
        detail = f"in query {query.name}\n{error.problem.detail}".strip()
        raise TidemillError(replace(error.problem, detail=detail, place=None)) from None
