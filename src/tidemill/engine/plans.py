"""The shared plan on disk: for each synopsis, the queries it was made for, as text.

A synopsis is a function of its members, so their text is all that is kept; a member that
has been dropped since still shapes the state, and stays until the synopsis goes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace

from tidemill.catalog import Catalog
from tidemill.errors import refuse
from tidemill.language import parse_script, render
from tidemill.language.statements import CreateQuery
from tidemill.plan.binding import bind
from tidemill.plan.model import QueryPlan
from tidemill.plan.typing import TypeOracle
from tidemill.share import SharedPlan, synopsis_for

_TABLES = """
CREATE TABLE IF NOT EXISTS plan_version (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER);
CREATE TABLE IF NOT EXISTS synopses (position INTEGER PRIMARY KEY, id TEXT, members TEXT);
"""

Bind = Callable[[CreateQuery], QueryPlan]


def binder(catalog: Catalog, oracle: TypeOracle) -> Bind:
    """Binds a query definition against the catalog."""

    def bind_query(query: CreateQuery) -> QueryPlan:
        stream = catalog.stream(query.select.stream, query.select.stream_place)
        if query.into is not None:
            catalog.sink(query.into, query.into_place)
        tables = tuple(catalog.table(join.table, join.place) for join in query.select.joins)
        plan = bind(query.name, query.into, query.select, stream, oracle, tables)
        if plan.joins or plan.window.other_ranges_us:
            refuse(
                "E_NOT_BUILT",
                "JOIN and several ranges in one window are not built yet",
                hint="a query reads one stream: FROM stream [RANGE r SLIDE s]",
                place=query.select.window_place,
            )
        return plan

    return bind_query


class PlanStore:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.executescript(_TABLES)

    def load(self, catalog: Catalog, bind_query: Bind) -> SharedPlan:
        row = self._connection.execute("SELECT version FROM plan_version").fetchone()
        kept = self._connection.execute("SELECT members FROM synopses ORDER BY position")
        synopses = [
            synopsis_for([bind_query(_query(sql)) for sql in json.loads(members)])
            for (members,) in kept
        ]
        queries = tuple(bind_query(query) for query in catalog.queries())
        return SharedPlan(row[0] if row else 0, tuple(synopses), queries if row else ())

    def save(self, plan: SharedPlan, catalog: Catalog) -> None:
        """Within the caller's transaction."""
        standing = {query.name: render(query) for query in catalog.queries()}
        before = dict(self._connection.execute("SELECT id, members FROM synopses"))
        rows = [
            (n, s.id, before.get(s.id) or json.dumps([standing[m] for m in s.members]))
            for n, s in enumerate(plan.synopses)
        ]
        self._connection.execute("DELETE FROM synopses")
        self._connection.executemany("INSERT INTO synopses VALUES (?, ?, ?)", rows)
        self._connection.execute(
            "INSERT OR REPLACE INTO plan_version VALUES (1, ?)", (plan.version,)
        )


def _query(sql: str) -> CreateQuery:
    (statement,) = parse_script(sql)
    assert isinstance(statement, CreateQuery)
    # A synopsis does not depend on where answers go, and a dropped query's sink may be gone.
    return replace(statement, into=None)
