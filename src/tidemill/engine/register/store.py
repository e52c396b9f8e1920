"""The registered state of a home: definitions, the plan that serves them, and query counts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from tidemill.catalog import HOME_FORMAT, Catalog, CatalogStore, Stream
from tidemill.connect.handovers import HandoverLedger
from tidemill.connect.sinks import distinct_writers
from tidemill.engine.register.learned import Samples, keep_samples
from tidemill.engine.register.old_plans import (
    ignoring_nulls,
    restate_synopsis,
    with_relation,
)
from tidemill.engine.register.plan_json import from_json, from_plain, to_json
from tidemill.engine.tick.journal import Journal, QueryState
from tidemill.engine.tick.outlets import Writers
from tidemill.language.names import Name
from tidemill.plan.joins import Join
from tidemill.plan.row_query import AnyQuery, RowQuery
from tidemill.schedule import NO_REVISIONS
from tidemill.share import SharedPlan, windowed
from tidemill.state.row_pieces import RowFeed
from tidemill.state.synopsis import Synopsis

Restore = Callable[[Catalog, Sequence[Join]], tuple[AnyQuery, ...]]
"""(catalog, joins of a home) ⇒ the plans of the catalog's standing queries."""

_TABLES = """
CREATE TABLE IF NOT EXISTS plan (
  one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER, next_synopsis INTEGER, made TEXT);
CREATE TABLE IF NOT EXISTS synopses (id TEXT PRIMARY KEY, position INTEGER, body TEXT);
CREATE TABLE IF NOT EXISTS stints (query TEXT PRIMARY KEY, body TEXT);
CREATE TABLE IF NOT EXISTS rate_plans (stream TEXT PRIMARY KEY, body TEXT);
CREATE TABLE IF NOT EXISTS row_feeds (id TEXT PRIMARY KEY, query TEXT, joins TEXT);
"""


@dataclass(frozen=True)
class Registered:
    """Made of what was there before, and then written down: both or neither."""

    catalog: Catalog = field(default_factory=Catalog)
    plan: SharedPlan = field(default_factory=SharedPlan)
    queries: dict[str, QueryState] = field(default_factory=dict)  # ticks count on in it

    def followed_by(self, catalog: Catalog, plan: SharedPlan) -> Registered:
        """Counts go on for a query that stays as it is, and begin anew for any other."""
        going_on = {query.name for query in self.plan.every_query if plan.stands(query)}
        queries = {
            query.name: self.queries.get(query.name, QueryState())
            if query.name in going_on or catalog.is_stopped(query.name)
            else QueryState()
            for query in catalog.every_query()
        }
        # One that compares answers has none before its first one after a pause.
        resumed = self.catalog.paused - catalog.paused
        for query in plan.queries if resumed else ():
            if query.delta and Name(query.name) in resumed:
                queries[query.name] = replace(queries[query.name], revisions=NO_REVISIONS)
        return Registered(catalog, plan, queries)

    def changed_since(self, before: Registered) -> dict[str, QueryState]:
        """The states that are not those of before."""
        standing = before.queries
        return {name: s for name, s in self.queries.items() if standing.get(name) is not s}

    def streams(self) -> list[Stream]:
        """Those that some query reads; first those whose ticks give rows to others."""
        streams = [self.catalog.stream(name) for name in self.plan.streams]
        return sorted(streams, key=lambda stream: stream.level)


class PlanStore:
    """The shared plan in the home's database: synopses, and the stints of the queries."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.executescript(_TABLES)

    def load(self, catalog: Catalog, restore: Restore) -> SharedPlan:
        row = self._connection.execute("SELECT version, next_synopsis, made FROM plan").fetchone()
        if row is None:
            return SharedPlan()
        bodies = self._connection.execute("SELECT body FROM synopses ORDER BY position")
        synopses = tuple(_synopsis(body, catalog) for (body,) in bodies)
        stints = self._connection.execute("SELECT query, body FROM stints")
        rates = self._connection.execute("SELECT stream, body FROM rate_plans")
        ids, joins_of_rows = self._row_feeds()
        joins = (join for synopsis in synopses for join in synopsis.relation.joins)
        queries = restore(catalog, (*joins, *joins_of_rows))
        row_queries = tuple(query for query in queries if isinstance(query, RowQuery))
        return SharedPlan(
            version=row[0],
            queries=tuple(windowed(queries)),
            synopses=synopses,
            stints={query: from_json(body) for query, body in stints},
            next_synopsis=row[1],
            rebuild_costs={Name(key): _points(raw) for key, raw in json.loads(row[2]).items()},
            rates={Name(stream): from_json(body) for stream, body in rates},
            row_queries=row_queries,
            row_feeds=tuple(
                RowFeed(ids[part.name], part) for query in row_queries for part in query.by_source
            ),
        )

    def _row_feeds(self) -> tuple[dict[str, str], list[Join]]:
        """The names of rows in the store, by query, and all tables that such queries join."""
        rows = self._connection.execute("SELECT id, query, joins FROM row_feeds").fetchall()
        ids = {query: key for key, query, _ in rows}
        return ids, [join for _, _, joins in rows for join in from_json(joins)]

    def save(self, before: SharedPlan, plan: SharedPlan) -> None:
        """Write the difference; within the caller's transaction."""
        self._connection.execute(
            "INSERT OR REPLACE INTO plan VALUES (1, ?, ?, ?)",
            (plan.version, plan.next_synopsis, json.dumps(dict(plan.rebuild_costs))),
        )
        standing = set(before.synopses)
        self._replace(
            "synopses",
            "id",
            {synopsis.id for synopsis in before.synopses} - {s.id for s in plan.synopses},
            [
                (synopsis.id, int(synopsis.id[1:]), to_json(synopsis))
                for synopsis in plan.synopses
                if synopsis not in standing
            ],
        )
        changed = {q: s for q, s in plan.stints.items() if before.stints.get(q) != s}
        rows = [(query, to_json(stints)) for query, stints in changed.items()]
        self._replace("stints", "query", before.stints.keys() - plan.stints.keys(), rows)
        moved = {s: rates for s, rates in plan.rates.items() if before.rates.get(s) != rates}
        bodies = [(stream, to_json(rates)) for stream, rates in moved.items()]
        self._replace("rate_plans", "stream", {*before.rates} - {*plan.rates}, bodies)
        removed = {feed.id for feed in before.row_feeds} - {feed.id for feed in plan.row_feeds}
        fresh = [feed for feed in plan.row_feeds if feed not in before.row_feeds]
        names = [(f.id, f.query.name, to_json(f.query.relation.joins)) for f in fresh]
        self._replace("row_feeds", "id", removed, names)

    def _replace(
        self, table: str, key: str, removed: AbstractSet[str], rows: Sequence[tuple[object, ...]]
    ) -> None:
        self._connection.executemany(
            f"DELETE FROM {table} WHERE {key} = ?", [(name,) for name in sorted(removed)]
        )
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            self._connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)


def load_registered(connection: sqlite3.Connection, restore: Restore) -> Registered:
    store = CatalogStore(connection)
    catalog = store.load()
    if store.format < HOME_FORMAT:
        catalog = ignoring_nulls(catalog)
    plan = PlanStore(connection).load(catalog, restore)
    return Registered(catalog, plan, Journal(connection).load_queries())


def save_registered(
    connection: sqlite3.Connection,
    before: Registered,
    after: Registered,
    writers: Writers,
    samples: Samples,
    handovers: HandoverLedger,
) -> None:
    """In one transaction, together with what the sinks know by now.

    A stream of handovers that nobody reads any more, or that has become another one, is forgotten:
    who reads it next begins anew.
    """
    # Made before the transaction begins: they make their tables, which would end one.
    journal, catalogs, plans = Journal(connection), CatalogStore(connection), PlanStore(connection)
    left = [name for name in before.plan.handed_over if not _goes_on(name, before, after)]
    with journal.transaction():
        catalogs.save(after.catalog)
        keep_samples(connection, samples)
        plans.save(before.plan, after.plan)
        going_on = {n for n, state in before.queries.items() if after.queries.get(n) is state}
        journal.forget_queries(before.queries.keys() - going_on)
        journal.save_queries(after.changed_since(before))
        for writer in distinct_writers(writers.values()):
            writer.record()
        for stream in left:
            journal.forget_stream(stream)
            handovers.forget(stream)
    for stream in left:
        handovers.sweep(stream)


def _goes_on(stream: Name, before: Registered, after: Registered) -> bool:
    """True if rows that have been handed over to the stream are still rows of it."""
    if stream not in after.plan.handed_over:
        return False
    catalogs = before.catalog, after.catalog
    was, now = (catalog.definition("stream", stream) for catalog in catalogs)
    old, new = ({*catalog.stream(stream).columns} for catalog in catalogs)
    return was == now and old <= new


def save_plan(connection: sqlite3.Connection, before: Registered, plan: SharedPlan) -> Registered:
    """Another plan for the same queries."""
    journal, plans = Journal(connection), PlanStore(connection)
    with journal.transaction():
        plans.save(before.plan, plan)
    return replace(before, plan=plan)


def _synopsis(body: str, catalog: Catalog) -> Synopsis:
    synopsis = from_plain(with_relation(json.loads(body), catalog))
    assert isinstance(synopsis, Synopsis)
    return restate_synopsis(synopsis, catalog)


def _points(raw: list[list[float]]) -> tuple[tuple[int, float], ...]:
    return tuple((int(queries), cost) for queries, cost in raw)
