"""Measured figures in the home's database, in one row."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tidemill.aggregates import CostFamily
from tidemill.share.weave import CellCosts, MachineCosts, Machines

_TABLE = """
CREATE TABLE IF NOT EXISTS calibration (one INTEGER PRIMARY KEY CHECK (one = 1), figures TEXT)
"""


def load_machines(connection: sqlite3.Connection) -> Machines:
    """The measured figures; the default of each that was not measured by an older version."""
    connection.execute(_TABLE)
    row = connection.execute("SELECT figures FROM calibration").fetchone()
    default = asdict(Machines())
    return _machines({**default, **_overlaid(json.loads(row[0]), default)} if row else default)


def keep_machines(connection: sqlite3.Connection, machines: Machines) -> None:
    connection.execute(_TABLE)
    figures = json.dumps(asdict(machines))
    connection.execute("INSERT OR REPLACE INTO calibration VALUES (1, ?)", (figures,))


def forget_machines(connection: sqlite3.Connection) -> bool:
    """Back to the defaults; true if there were measured figures."""
    connection.execute(_TABLE)
    return connection.execute("DELETE FROM calibration").rowcount > 0


def _overlaid(raw: Any, default: Mapping[str, Any]) -> dict[str, Any]:
    """What has a name that is still in use, beside the defaults of the rest."""
    return {
        name: {**value, **_overlaid(raw[name], value)} if isinstance(value, Mapping) else raw[name]
        for name, value in default.items()
        if name in raw
    }


def _machines(figures: Mapping[str, Any]) -> Machines:
    return Machines(**{route: _costs(**costs) for route, costs in figures.items()})


def _costs(lanes: Mapping[str, Mapping[str, float]], **figures: float) -> MachineCosts:
    families = {CostFamily(name): CellCosts(**costs) for name, costs in lanes.items()}
    return MachineCosts(**figures, lanes=families)
