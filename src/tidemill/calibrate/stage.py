"""The material of the measurements: a stream of packets, queries on it, synopses and feeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.aggregates.functions import signatures_with
from tidemill.catalog import Code, Stream
from tidemill.catalog.addresses import Address
from tidemill.connect.packets.packets import PacketModel, make_block
from tidemill.language import parse_script
from tidemill.language.statements import ColumnDef, CreateQuery
from tidemill.plan.bind.binder import bind
from tidemill.plan.bind.environment import Environment
from tidemill.plan.query import QueryPlan
from tidemill.settings import Settings
from tidemill.share import EngineCosts, StreamPosition, arrange_feeds
from tidemill.share.synopses import FittedSynopsis, new_synopsis
from tidemill.share.weave import MachineCosts
from tidemill.state.feed import Feed
from tidemill.state.synopsis import Synopsis
from tidemill.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Type

_COLUMNS: Mapping[str, Type] = {
    "ts": TIMESTAMP,
    "src": STRING,
    "proto": STRING,
    "port": INT,
    "length": BIGINT,
    "delay": DOUBLE,
}
MODEL = PacketModel(rate=50_000, hosts=1_000)
TOTALS = "SUM(length) AS s, COUNT(*) AS c, AVG(length) AS a"
COUNTS = "COUNT(*) AS c"
# What a user may have written: states of three numbers, put together by NumPy.
_CODE = """
import numpy as np
import tidemill


@tidemill.aggregate(
    arguments={"x": "BIGINT"},
    state={"low": "BIGINT", "high": "BIGINT", "n": "BIGINT"},
    returns="BIGINT",
)
class Calibrated:
    def identity(self):
        return {"low": 2**62, "high": -(2**62), "n": 0}

    def lift(self, x):
        x = np.asarray(x)
        return {"low": x, "high": x, "n": 1}

    def combine(self, left, right):
        return {
            "low": np.minimum(left["low"], right["low"]),
            "high": np.maximum(left["high"], right["high"]),
            "n": left["n"] + right["n"],
        }

    def lower(self, state):
        return state["high"] - state["low"]
"""
_FUNCTIONS = signatures_with([Code("calibrated", _CODE)])
CONDITIONS = tuple(f"length > {100 * number}" for number in range(1, 17))


def stream(folder: Path) -> Stream:
    """Packets as Parquet files in the folder."""
    columns = tuple(ColumnDef(name, kind) for name, kind in _COLUMNS.items())
    return Stream("packets", columns, "ts", False, Address("parquet", str(folder)), 0)


def write_rows(folder: Path, files: int) -> list[str]:
    """A second of packets to a file."""
    paths = [str(folder / f"{number:03d}.parquet") for number in range(files)]
    for number, path in enumerate(paths):
        packets = pa.Table.from_batches([make_block(MODEL, number)])
        pq.write_table(
            packets.append_column("delay", packets.column("length").cast(pa.float64())), path
        )
    return paths


def query(
    keys: str, slide_ms: int, where: str = "", items: str = TOTALS, having: str = ""
) -> QueryPlan:
    """A query for windows that each are two slices."""
    window = f"RANGE {2 * slide_ms} MS SLIDE {slide_ms} MS"
    text = f"SELECT {keys}, {items} FROM packets [{window}]"
    text += f" WHERE {where}" if where else ""
    text += f" GROUP BY {keys}" + (f" HAVING {having}" if having else "")
    (statement,) = parse_script(f"CREATE QUERY q AS {text}")
    assert isinstance(statement, CreateQuery)
    return bind(replace(statement, name=text), stream(Path()), Environment(_FUNCTIONS))


def synopsis_for(number: int, queries: Sequence[QueryPlan], routed: bool = False) -> FittedSynopsis:
    """One synopsis for queries of equal keys."""
    return new_synopsis(number, queries, StreamPosition(), covers=False, routed=routed)


def feeds_of(synopses: Sequence[Synopsis], rolled_up: bool = False) -> tuple[Feed, ...]:
    """All in one pass: each with a sub-aggregation of its own, or rolled up from one."""
    dear = 1e9
    machine = MachineCosts(scan_ns=dear, set_ns=dear if rolled_up else 0.0)
    settings = Settings(steps_off="" if rolled_up else "group_by_tree")
    return arrange_feeds(synopses, settings, EngineCosts(machine=machine))
