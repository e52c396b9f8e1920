"""Who answers the queries of the Nexmark benchmark. Seconds of outcomes are processor time."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from _harness import Outcome
from _peers import Peer
from _processor import processor_seconds

from _nexmark.in_duckdb import DUCKDB, open_house
from _nexmark.in_spark import SPARK
from _nexmark.scripts import EXAMPLES, copy_tables, over_files
from tidemill import Engine
from tidemill.connect.nexmark.generator import nexmark_table
from tidemill.spark.java import find_java

FILES_PER_TICK = 4
_BATCH_ROWS = 100_000
_TIMEOUT_S = 600.0
_SPARK_TYPES = {"int64": "BIGINT", "string": "STRING", "timestamp[us, tz=UTC]": "TIMESTAMP"}


def run_tidemill(queries: Sequence[str], data: Path, scratch: Path) -> Outcome:
    """The scripts in one home; rows are dropped where a script names no sink."""
    base = copy_tables(Path(tempfile.mkdtemp(dir=scratch)))
    with Engine(base / "home", default_sink="discard") as engine:
        before = processor_seconds()
        engine.sql(f"SET tick_files = {FILES_PER_TICK}")
        for query in queries:
            engine.sql(over_files(query, data), base)
        began, began_s = time.perf_counter(), processor_seconds()
        report = engine.run("flush")
        ended, ended_s = time.perf_counter(), processor_seconds()
    shutil.rmtree(base)
    details = {"register": began_s - before, "wall": ended - began, "ticks": report.ticks}
    return Outcome(ended_s - began_s, sum(report.queries.values()), details=details)


def run_duckdb(query: str, data: Path) -> Outcome:
    """One batch on all cores, its rows handed over as Arrow and dropped."""
    with open_house(data, os.cpu_count() or 1) as house:
        # Of this process alone: a Java machine below it is none of DuckDB's business.
        began, began_s = time.perf_counter(), time.process_time()
        answers = sum(
            batch.num_rows for batch in house.sql(DUCKDB[query]).to_arrow_reader(_BATCH_ROWS)
        )
        used_s, wall = time.process_time() - began_s, time.perf_counter() - began
    return Outcome(used_s, answers, details={"wall": wall})


def run_spark(query: str, peer: Peer) -> Outcome:
    """Windows that are open at the end of the files have no answers there."""
    outcome = peer.run({"queries": [SPARK[query].job()]})
    if outcome.failure:
        return outcome
    details = {"wall": outcome.seconds}
    return replace(outcome, seconds=outcome.details["processor"], details=details)


def spark_peer(scratch: Path, data: Path, memory: str) -> Peer:
    """A process with a session of its own, which starts when it is first asked."""
    bids = nexmark_table("bid", {}).schema
    settings = {
        "data": str(data / "bid"),
        "format": "parquet",
        "files_per_tick": FILES_PER_TICK,
        "schema": ", ".join(f"{each.name} {_SPARK_TYPES[str(each.type)]}" for each in bids),
        "stream": "bid",
        "time": "dateTime",
        "tables": {"side_input": str(EXAMPLES / "data" / "side_input.csv")},
        "scratch": str(scratch),
        "state": "memory",
        "memory": memory,
    }
    program = str(Path(__file__).parents[1] / "_spark_job.py")
    java = find_java()
    environment = {"JAVA_HOME": str(java)} if java else {}
    command = [sys.executable, program, json.dumps(settings)]
    return Peer(command, scratch / "spark.log", _TIMEOUT_S, environment)
