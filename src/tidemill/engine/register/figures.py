"""Measured figures in the home's database, in one row."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, fields

from tidemill.share.weave import MachineCosts, Machines

_TABLE = """
CREATE TABLE IF NOT EXISTS calibration (one INTEGER PRIMARY KEY CHECK (one = 1), figures TEXT)
"""


def load_machines(connection: sqlite3.Connection) -> Machines:
    """The measured figures; the defaults if none are there, or if they are of an older form."""
    connection.execute(_TABLE)
    row = connection.execute("SELECT figures FROM calibration").fetchone()
    raw = json.loads(row[0]) if row else {}
    names = {field.name for field in fields(MachineCosts)}
    if raw.keys() != {"arrays", "catalyst"} or any(one.keys() != names for one in raw.values()):
        return Machines()
    return Machines(**{route: _costs(figures) for route, figures in raw.items()})


def keep_machines(connection: sqlite3.Connection, machines: Machines) -> None:
    connection.execute(_TABLE)
    figures = json.dumps(asdict(machines))
    connection.execute("INSERT OR REPLACE INTO calibration VALUES (1, ?)", (figures,))


def forget_machines(connection: sqlite3.Connection) -> bool:
    """Back to the defaults; true if there were measured figures."""
    connection.execute(_TABLE)
    return connection.execute("DELETE FROM calibration").rowcount > 0


def _costs(figures: Mapping[str, float]) -> MachineCosts:
    return MachineCosts(**figures)
