"""Sets of keys rolled up through one that nobody asked for: answers are DuckDB's.

Compared: four group-bys of generated packets, which one sub-aggregation feeds, with DuckDB over
the same rows. This catches rows lost or doubled on the way down the tree. Tumbling windows
keep the comparison plain; sliding ones are held by the other stories.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa

from tests.share.plans import PACKETS
from tidemill.clock import ManualClock
from tidemill.connect.packets.model import PacketModel
from tidemill.connect.packets.packets import block_count, make_block
from tidemill.engine import Engine
from tidemill.engine.register.figures import keep_machines
from tidemill.share.weave import CATALYST_COSTS, Machines

SOURCE = "generate:packets?rate=1000&duration=30s&hosts=100&seed=11"
MODEL = PacketModel(rate=1000, hosts=100, seed=11, duration_us=30_000_000)
SETS = ("proto", "port, flags", "proto, flags", "flags, src")
AGGREGATES = "COUNT(*) AS n, SUM(length) AS bytes, MIN(length) AS least"


def script() -> str:
    queries = (
        f"CREATE QUERY q{n} AS SELECT {keys}, {AGGREGATES} "
        f"FROM packets [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY {keys};"
        for n, keys in enumerate(SETS)
    )
    return PACKETS.replace("parquet:data", SOURCE) + "\n".join(queries)


def expected(keys: str) -> list[tuple[object, ...]]:
    last = block_count(MODEL)
    assert last is not None
    packets = pa.Table.from_batches(make_block(MODEL, block) for block in range(last))
    connection = duckdb.connect()
    connection.register("packets", packets)
    start = "epoch_us(ts) // 10000000 * 10000000"
    found = connection.sql(
        f"SELECT {start} AS start, {keys}, {AGGREGATES} FROM packets GROUP BY ALL"
    )
    return found.fetchall()


def test_answers_below_a_set_in_between(tmp_path: Path) -> None:
    with Engine(tmp_path / "home") as engine:
        # A machine that reads rows slowly, so that all sets are rolled up from one.
        slow = replace(CATALYST_COSTS, scan_ns=1e6, set_ns=1e6)
        keep_machines(engine.home.open(), Machines(slow, slow))
    with Engine(tmp_path / "home", clock=ManualClock()) as engine:
        engine.sql(script(), tmp_path)
        (page,) = engine.explain("EXPLAIN SHARED ALL")
        (between,) = (line for line in page.splitlines() if "├─ proto, flags, port" in line)
        assert "⇒" not in between  # nobody asked for it
        engine.run("flush")
        for number, keys in enumerate(SETS):
            rows = engine.query(f"q{number}").answers().to_arrow().drop_columns(["window_end"])
            starts = rows.column("window_start").cast(pa.int64())
            rows = rows.set_column(0, "window_start", starts)
            answered = [tuple(row.values()) for row in rows.to_pylist()]
            assert sorted(answered, key=repr) == sorted(expected(keys), key=repr)
            assert len(answered) > 3
