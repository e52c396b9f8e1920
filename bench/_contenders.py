"""The contenders: a bare scan, Tidemill, and the peers, all over the same files."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from _dialects import flink_sql, output_names, quoted, spark_sql
from _harness import Outcome, tell
from _memory import watched_memory
from _peers import Peer
from _processor import processor_seconds
from _rows import SCHEMA, Shape
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from workload import TOP, Query, script

import tidemill
from tidemill.spark.java import find_java

FLINK = "2.3.0"
ENVIRONMENTS = Path(__file__).parents[1] / ".bench-env"
_FLINK_TYPES = {"TIMESTAMP": "TIMESTAMP(3)"}


@dataclass(frozen=True)
class Files:
    """The input of one section."""

    data: Path
    file_format: str
    files_per_tick: int
    scratch: Path


def run_bare(session: SparkSession, files: Files) -> Outcome:
    """One batch group-by of all rows by second and source: the floor."""
    started = time.perf_counter()
    with watched_memory() as peaks:
        rows = session.read.schema(SCHEMA).format(files.file_format).load(str(files.data))
        second = F.floor(F.unix_micros("ts") / 1_000_000)
        grouped = rows.groupBy(second.alias("second"), "src").agg(F.sum("length"), F.count("*"))
        grouped.write.format("noop").mode("overwrite").save()
    return Outcome(time.perf_counter() - started, memory=peaks)


_homes = itertools.count()


def run_tidemill(files: Files, queries: Sequence[Query], until: str = "flush") -> Outcome:
    """The seconds are those of the run; registering the queries is told apart."""
    home = files.scratch / "homes" / str(next(_homes))
    text = "\n".join(script(queries, files.data, files.file_format, files.files_per_tick))
    with watched_memory() as peaks, tidemill.Engine(home) as engine:
        started = time.perf_counter()
        engine.sql(text)
        registered, used = time.perf_counter(), processor_seconds()
        report = engine.run(until)
        seconds = time.perf_counter() - registered
        used = processor_seconds() - used
    shutil.rmtree(home)
    details = {
        "register": registered - started,
        "processor": used,
        "ticks": report.ticks,
        **report.phases,
    }
    return Outcome(seconds, sum(report.queries.values()), peaks, details=details)


def spark_peer(files: Files, state: str, memory: str, timeout_s: float) -> Peer:
    folder = files.scratch / f"spark-{state}"
    folder.mkdir(exist_ok=True)
    settings = {
        "data": str(files.data),
        "format": files.file_format,
        "files_per_tick": files.files_per_tick,
        "schema": SCHEMA,
        "stream": "packets",
        "time": "ts",
        "tables": {},
        "scratch": str(folder),
        "state": state,
        "memory": memory,
    }
    command = [sys.executable, str(_here("_spark_job.py")), json.dumps(settings)]
    return Peer(command, files.scratch / f"spark-{state}.log", timeout_s, _java())


def spark_job(queries: Sequence[Query]) -> dict[str, object]:
    return {"queries": [{"sql": spark_sql(q), "top": q.top, "limit": TOP} for q in queries]}


def flink_peer(
    files: Files, shape: Shape, memory: str, timeout_s: float, answers: Path | None = None
) -> Peer:
    """Needs `flink_python` to have been called; answers are kept where a folder is named."""
    settings = {
        "data": str(files.data),
        "columns": _flink_columns(SCHEMA),
        "cores": os.cpu_count(),
        "managed_memory": "1g",
        "watermark_delay_min": int(shape.seconds / 60) + 1,
        "answers": str(answers) if answers else None,
    }
    command = [str(flink_python()), str(_here("_flink_job.py")), json.dumps(settings)]
    environment = {**_java(), "JDK_JAVA_OPTIONS": f"-Xmx{memory}"}
    return Peer(command, files.scratch / "flink.log", timeout_s, environment)


def flink_job(queries: Sequence[Query]) -> dict[str, object]:
    return {"queries": [{"sql": flink_sql(q), "columns": _sink_columns(q)} for q in queries]}


def flink_python() -> Path:
    """The interpreter of Flink's own environment, which is made the first time."""
    folder = ENVIRONMENTS / f"flink-{FLINK}"
    python = folder / "bin" / "python"
    if (folder / ".ready").exists():
        return python
    tell(f"making {folder.name}, an environment for Flink (a minute or two)")
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"apache-flink=={FLINK}"], check=True)
    (folder / ".ready").touch()
    return python


def _flink_columns(schema: str) -> str:
    pairs = (column.split() for column in schema.split(", "))
    return ", ".join(f"{name} {_FLINK_TYPES.get(type_, type_)}" for name, type_ in pairs)


def _sink_columns(query: Query) -> str:
    keys = [
        column for column in _flink_columns(SCHEMA).split(", ") if column.split()[0] in query.keys
    ]
    totals = [f"{quoted(name)} BIGINT" for name in output_names(query)]
    return ", ".join(["window_start TIMESTAMP(3)", "window_end TIMESTAMP(3)", *keys, *totals])


def _java() -> dict[str, str]:
    home = find_java()
    return {"JAVA_HOME": str(home)} if home else {}


def _here(name: str) -> Path:
    return Path(__file__).with_name(name)
