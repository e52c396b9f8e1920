"""The revisions of queries in the tick log: of each tick what it has changed of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping

from tidemill.schedule import NO_REVISIONS, Bounds, LastAnswer, Revisions

REVISION_TABLES = """
CREATE TABLE IF NOT EXISTS revising (
  query TEXT PRIMARY KEY, since_us INTEGER, silent TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS revisions (
  query TEXT, start_us INTEGER, end_us INTEGER, number INTEGER, has_rows INTEGER,
  PRIMARY KEY (query, start_us, end_us)) WITHOUT ROWID;
"""


def save_revisions(connection: sqlite3.Connection, by_query: Mapping[str, Revisions]) -> None:
    """Within a transaction; what has been written before comes to the same."""
    revising = {query: r for query, r in by_query.items() if r != NO_REVISIONS}
    changed = [(query, w, r.answers) for query, r in revising.items() for w in r.changed]
    connection.executemany(
        "INSERT OR REPLACE INTO revising VALUES (?, ?, ?)",
        [(query, r.since_us, json.dumps(r.silent)) for query, r in revising.items()],
    )
    connection.executemany(
        "DELETE FROM revisions WHERE query = ? AND start_us = ? AND end_us = ?",
        [(query, *window) for query, window, answers in changed if window not in answers],
    )
    connection.executemany(
        "INSERT OR REPLACE INTO revisions VALUES (?, ?, ?, ?, ?)",
        [(query, *w, *answers[w]) for query, w, answers in changed if w in answers],
    )


def load_revisions(connection: sqlite3.Connection) -> dict[str, Revisions]:
    """By query."""
    answers: dict[str, dict[Bounds, LastAnswer]] = {}
    rows = connection.execute("SELECT query, start_us, end_us, number, has_rows FROM revisions")
    for query, start_us, end_us, number, has_rows in rows:
        last = LastAnswer(number, bool(has_rows))
        answers.setdefault(query, {})[start_us, end_us] = last
    revising = connection.execute("SELECT query, since_us, silent FROM revising")
    return {
        query: Revisions(since_us, tuple(map(tuple, json.loads(silent))), answers.get(query, {}))
        for query, since_us, silent in revising
    }
