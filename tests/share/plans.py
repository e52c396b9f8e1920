"""Shared plans without Spark: scripts bound as they are, and samples of generated packets.

Expressions outside the typed set have no oracle here; scripts keep within it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidemill.aggregates.functions import signatures_with
from tidemill.catalog import Catalog
from tidemill.connect.packets.model import PacketModel
from tidemill.connect.packets.packets import make_block
from tidemill.explain.stream_model import Arrangement
from tidemill.language import parse_script
from tidemill.plan.bind.binder import bind_query
from tidemill.plan.bind.environment import Environment
from tidemill.plan.expressions import Slot
from tidemill.plan.predicates import Predicate
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
from tidemill.settings import Settings
from tidemill.share import (
    Context,
    EngineCosts,
    Sample,
    SharedPlan,
    StreamPosition,
    change_plan,
    windowed,
)
from tidemill.share.weave import ARRAY_COSTS, MachineCosts

ROOT = Path(__file__).parents[2]
NETMON = (ROOT / "examples" / "netmon.sql").read_text(encoding="utf-8")
PACKETS = """
CREATE STREAM packets (
  ts TIMESTAMP, src STRING, dst STRING, proto STRING, port INT, length BIGINT, flags INT
) ORDER BY ts SOURCE 'parquet:data';
"""


def catalog_of(script: str) -> Catalog:
    catalog = Catalog()
    for statement in parse_script(script):
        catalog = catalog.apply(statement)  # type: ignore[arg-type]
    return catalog


def bound(script: str) -> tuple[QueryPlan, ...]:
    catalog = catalog_of(script)
    environment = Environment(signatures_with(catalog.aggregates))
    return tuple(windowed(bind_query(query, catalog, environment) for query in catalog.queries()))


def query(select: str, name: str = "q") -> QueryPlan:
    (found,) = bound(f"{PACKETS} CREATE QUERY {name} AS {select};")
    return found


def planned(
    queries: Sequence[QueryPlan],
    sample: Sample | None = None,
    settings: Settings | None = None,
    before: SharedPlan | None = None,
    machine: MachineCosts = ARRAY_COSTS,
) -> Arrangement:
    """The queries of one stream, all at once or on top of a plan that stands."""
    context = Context(settings or Settings(), EngineCosts(sample or Sample(), machine))
    plan = change_plan(before or SharedPlan(), queries, lambda _: (StreamPosition(), context))
    return Arrangement(source_name(queries[0].relation), plan, context.settings, context.costs)


def packets_sample(queries: Sequence[QueryPlan]) -> Sample:
    """What the engine's sample of the example says: the first block of its generator."""
    rows = pa.Table.from_batches([make_block(PacketModel(rate=1000, hosts=100, seed=11), 0)])
    columns = {name: rows.column(name).to_pylist() for name in rows.column_names}
    times = rows.column("ts").cast(pa.int64()).to_numpy()
    keys = {key.scalar.sql for query in queries for key in query.keys}
    predicates = dict.fromkeys(query.predicate for query in queries)
    return Sample(
        rows_per_second=len(rows) * 1e6 / float(times.max() - times.min()),
        size=len(rows),
        keys={name: _codes(columns[name]) for name in keys},
        bits={p: _flags(p, columns, len(rows)) for p in predicates if not p.is_true},
    )


def _codes(values: list[object]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


def _flags(
    predicate: Predicate, columns: Mapping[str, list[object]], size: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Row by row: a row is in a box when its value on every side is allowed."""

    def holds(row: int) -> bool:
        return any(
            all(_point(columns[_name(dim)][row]) in allowed for dim, allowed in box.sides)
            for box in predicate.boxes
        )

    return np.array([holds(row) for row in range(size)], dtype=np.bool_)


def _name(dimension: object) -> str:
    assert isinstance(dimension, Slot)
    return dimension.name


def _point(value: object) -> object:
    return value.encode() if isinstance(value, str) else value
