"""Small queries, and contexts to plan them in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.laws.queries import plan_of
from tidemill.plan.query import QueryPlan
from tidemill.settings import Settings
from tidemill.share import Context, EngineCosts, Sample, StreamPosition
from tidemill.share.weave import MachineCosts

ROWS = 5_000
_RNG = np.random.default_rng(3)
# Two keys of a hundred values each, independent of each other.
KEYS = {name: _RNG.integers(0, 100, ROWS) for name in ("k", "n")}


def query(
    number: int, keys: str = "k", where: str = "", window: str = "RANGE 60 s SLIDE 60 s"
) -> QueryPlan:
    condition = f"WHERE {where}" if where else ""
    group = f"GROUP BY {keys}" if keys else ""
    items = f"{keys}, COUNT(*) AS c" if keys else "COUNT(*) AS c"
    return plan_of(number, f"SELECT {items} FROM s [{window}] {condition} {group}")


def costs(rate: float = 1_000.0, **machine: Any) -> EngineCosts:
    return EngineCosts(Sample(rate, ROWS, KEYS), MachineCosts(**machine))


def context(sharing: str = "shared", steps_off: str = "", **machine: Any) -> Context:
    return Context(Settings(sharing=sharing, steps_off=steps_off), costs(**machine))


def around(
    standing: StreamPosition | None = None, chosen: Context | None = None
) -> Callable[[str], tuple[StreamPosition, Context]]:
    return lambda _stream: (standing or StreamPosition(), chosen or context())
