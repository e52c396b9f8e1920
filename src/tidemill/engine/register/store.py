"""What stands: definitions, the plan that serves them, and how far each query has come."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tidemill.catalog import Catalog, CatalogStore, Stream
from tidemill.connect.sinks import distinct_writers
from tidemill.engine.register.bind import Bind
from tidemill.engine.register.shared_plan import PlanStore
from tidemill.engine.register.tables import restored
from tidemill.engine.tick.journal import Journal, QueryState
from tidemill.engine.tick.outlets import Writers
from tidemill.share import SharedPlan


@dataclass(frozen=True)
class Registered:
    """Made of what was there before, and then written down: both or neither."""

    catalog: Catalog = field(default_factory=Catalog)
    plan: SharedPlan = field(default_factory=SharedPlan)
    queries: dict[str, QueryState] = field(default_factory=dict)  # ticks count on in it

    def followed_by(self, catalog: Catalog, plan: SharedPlan) -> Registered:
        """Counts go on for a query that stays as it is, and begin anew for any other."""
        going_on = {query.name for query in self.plan.queries if plan.stands(query)}
        queries = {
            query.name: self.queries.get(query.name, QueryState())
            if query.name in going_on or catalog.is_stopped(query.name)
            else QueryState()
            for query in catalog.queries()
        }
        return Registered(catalog, plan, queries)

    def streams(self) -> list[Stream]:
        """Those that some query reads."""
        names = dict.fromkeys(query.stream for query in self.plan.queries)
        return [self.catalog.stream(name) for name in names]


def load_registered(
    connection: sqlite3.Connection, bind_to: Callable[[Catalog], Bind]
) -> Registered:
    catalog = CatalogStore(connection).load()
    plan = restored(PlanStore(connection).load(catalog, bind_to(catalog)))
    return Registered(catalog, plan, Journal(connection).load_queries())


def save_registered(
    connection: sqlite3.Connection, before: Registered, after: Registered, writers: Writers
) -> None:
    """In one transaction, together with what the sinks know by now."""
    # Made before the transaction begins: they make their tables, which would end one.
    journal, catalogs, plans = Journal(connection), CatalogStore(connection), PlanStore(connection)
    with journal.transaction():
        catalogs.save(after.catalog)
        plans.save(before.plan, after.plan)
        journal.forget_queries(before.queries.keys() - after.queries.keys())
        journal.save_queries(after.queries)
        for writer in distinct_writers(writers.values()):
            writer.record()


def save_plan(connection: sqlite3.Connection, before: Registered, plan: SharedPlan) -> Registered:
    """Another plan for the same queries."""
    journal, plans = Journal(connection), PlanStore(connection)
    with journal.transaction():
        plans.save(before.plan, plan)
    return replace(before, plan=plan)
