"""The catalog on disk: canonical SQL text in SQLite, written in one transaction."""

from __future__ import annotations

import sqlite3
from dataclasses import fields

from tidemill.catalog.catalog import Catalog
from tidemill.catalog.definitions import KINDS
from tidemill.language import parse_script, render
from tidemill.language.names import Name
from tidemill.language.statements import Definition
from tidemill.settings import Settings

_TABLES = """
CREATE TABLE IF NOT EXISTS definitions (
  position INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, sql TEXT NOT NULL,
  PRIMARY KEY (kind, name));
CREATE TABLE IF NOT EXISTS paused (name TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS stopped (name TEXT PRIMARY KEY, reason TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS advances (name TEXT PRIMARY KEY, until_us INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
# In a home of an earlier one, FIRST and LAST leave NULLs out.
HOME_FORMAT = 1


class CatalogStore:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.executescript(_TABLES)

    @property
    def format(self) -> int:
        """The format of the texts: `HOME_FORMAT`, or an earlier one."""
        (number,) = self._connection.execute("PRAGMA user_version").fetchone()
        return int(number)

    def load(self) -> Catalog:
        """The definitions as they are written."""
        rows = self._connection.execute("SELECT kind, name, sql FROM definitions ORDER BY position")
        definitions: dict[str, dict[Name, Definition]] = {kind: {} for kind in KINDS.values()}
        for kind, name, sql in rows:
            definitions[kind][Name(name)] = _definition(sql)
        settings = Settings()
        for name, value in self._connection.execute("SELECT name, value FROM settings"):
            settings = settings.with_value(name, value)
        paused = self._connection.execute("SELECT name FROM paused")
        stopped = self._connection.execute("SELECT name, reason FROM stopped")
        advances = self._connection.execute("SELECT name, until_us FROM advances")
        return Catalog(
            definitions,
            settings,
            frozenset(Name(name) for (name,) in paused),
            {Name(name): reason for name, reason in stopped},
            {Name(name): until_us for name, until_us in advances},
        )

    def save(self, catalog: Catalog) -> None:
        """Within the caller's transaction, if it has one open."""
        self._connection.execute(f"PRAGMA user_version = {HOME_FORMAT}")
        self._connection.execute("DELETE FROM definitions")
        rows = [
            (position, kind, name, render(definition))
            for position, (kind, name, definition) in enumerate(catalog.all_definitions())
        ]
        self._connection.executemany("INSERT INTO definitions VALUES (?, ?, ?, ?)", rows)
        self._connection.execute("DELETE FROM paused")
        paused = [(name,) for name in sorted(catalog.paused)]
        self._connection.executemany("INSERT INTO paused VALUES (?)", paused)
        self._connection.execute("DELETE FROM stopped")
        stopped = sorted(catalog.stopped.items())
        self._connection.executemany("INSERT INTO stopped VALUES (?, ?)", stopped)
        self._connection.execute("DELETE FROM advances")
        advances = sorted(catalog.advances.items())
        self._connection.executemany("INSERT INTO advances VALUES (?, ?)", advances)
        self._connection.execute("DELETE FROM settings")
        values = [(f.name, str(getattr(catalog.settings, f.name))) for f in fields(Settings)]
        self._connection.executemany("INSERT INTO settings VALUES (?, ?)", values)


def _definition(sql: str) -> Definition:
    (statement,) = parse_script(sql)
    assert isinstance(statement, Definition)
    return statement
