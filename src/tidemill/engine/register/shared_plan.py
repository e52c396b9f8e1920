"""The shared plan on disk: synopses as they are kept, and who reads them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from tidemill.catalog import Catalog
from tidemill.engine.register.bind import Bind
from tidemill.engine.register.plan_json import from_json, to_json
from tidemill.share import SharedPlan

_TABLES = """
CREATE TABLE IF NOT EXISTS plan (
  one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER, next_synopsis INTEGER, made TEXT);
CREATE TABLE IF NOT EXISTS synopses (id TEXT PRIMARY KEY, position INTEGER, body TEXT);
CREATE TABLE IF NOT EXISTS stints (query TEXT PRIMARY KEY, body TEXT);
"""


class PlanStore:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.executescript(_TABLES)

    def load(self, catalog: Catalog, bind_query: Bind) -> SharedPlan:
        row = self._connection.execute("SELECT version, next_synopsis, made FROM plan").fetchone()
        if row is None:
            return SharedPlan()
        kept = self._connection.execute("SELECT body FROM synopses ORDER BY position")
        stints = self._connection.execute("SELECT query, body FROM stints")
        return SharedPlan(
            version=row[0],
            queries=tuple(bind_query(query) for query in catalog.standing()),
            synopses=tuple(from_json(body) for (body,) in kept),
            stints={query: from_json(body) for query, body in stints},
            next_synopsis=row[1],
            made={key: _points(found) for key, found in json.loads(row[2]).items()},
        )

    def save(self, before: SharedPlan, plan: SharedPlan) -> None:
        """What has changed; within the caller's transaction."""
        self._connection.execute(
            "INSERT OR REPLACE INTO plan VALUES (1, ?, ?, ?)",
            (plan.version, plan.next_synopsis, json.dumps(dict(plan.made))),
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

    def _replace(
        self, table: str, key: str, gone: set[str], rows: Sequence[tuple[object, ...]]
    ) -> None:
        self._connection.executemany(
            f"DELETE FROM {table} WHERE {key} = ?", [(name,) for name in sorted(gone)]
        )
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            self._connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)


def _points(raw: list[list[float]]) -> tuple[tuple[int, float], ...]:
    return tuple((int(queries), cost) for queries, cost in raw)
